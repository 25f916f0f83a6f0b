"""Headlight: see a Transformer translate, head by head. Run with `streamlit run app.py`."""

from pathlib import Path

import streamlit as st

from components import sidebar

COMPONENTS = Path(__file__).parent / "components"

st.set_page_config(page_title="Headlight", page_icon=str(COMPONENTS / "icon.svg"), layout="wide")
st.html(COMPONENTS / "page.css")

page = st.navigation(
    [
        st.Page("pages/translate.py", title="Translate", icon=":material/translate:", default=True),
        st.Page("pages/attention.py", title="Attention", icon=":material/grid_on:"),
    ]
)
sidebar.show()
page.run()
