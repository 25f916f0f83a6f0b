"""The pages of the app, in the order of the sidebar."""

import streamlit as st
from streamlit.navigation.page import Page


def navigation() -> Page:
    """Register all pages and return the one that the URL asks for."""
    return st.navigation(
        [
            st.Page("pages/translate.py", title="Translate", default=True),
            st.Page("pages/attention.py", title="Attention"),
        ]
    )
