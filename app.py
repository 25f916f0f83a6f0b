"""Headlight: see a Transformer translate, head by head. Run with `streamlit run app.py`."""

from pathlib import Path

import streamlit as st

from components.starting import starting

COMPONENTS = Path(__file__).parent / "components"

st.set_page_config(page_title="Headlight", page_icon=str(COMPONENTS / "icon.svg"), layout="wide")
st.html(COMPONENTS / "page.css")

with starting():
    from components import sidebar
    from components.navigation import navigation

page = navigation()
sidebar.show()
page.run()
