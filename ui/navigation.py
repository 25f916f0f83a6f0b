"""The pages of the app, in the order of the sidebar."""

import streamlit as st
from streamlit.navigation.page import Page

from . import url_state as address


def navigation() -> Page:
    """Register all pages and return the one that the URL asks for."""
    page = st.navigation(
        [
            st.Page("pages/translate.py", title="Translate", default=True),
            st.Page("pages/decoding.py", title="Decoding"),
            st.Page("pages/attention.py", title="Attention"),
            st.Page("pages/inside.py", title="Inside attention"),
            st.Page("pages/architecture.py", title="Architecture"),
            st.Page("pages/logits.py", title="Logits"),
            st.Page("pages/positions.py", title="Positional encoding"),
            st.Page("pages/masks.py", title="Masks"),
            st.Page("pages/training.py", title="Training"),
            st.Page("pages/questions.py", title="Questions"),
        ]
    )
    address.note_page(page.url_path)
    return page
