"""Headlight: see a Transformer translate, head by head. Run with `streamlit run app.py`."""

import streamlit as st

from components import sidebar

st.set_page_config(page_title="Headlight", page_icon=":material/visibility:", layout="wide")

page = st.navigation(
    [
        st.Page("pages/translate.py", title="Translate", icon=":material/translate:", default=True),
        st.Page("pages/attention.py", title="Attention", icon=":material/grid_on:"),
    ]
)
sidebar.show()
page.run()
