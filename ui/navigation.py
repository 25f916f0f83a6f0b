"""The pages: their order in the sidebar, the frame that all have, and how each gets what the sidebar chose."""

import streamlit as st
from streamlit.navigation.page import Page

from session import Choice
from transformer import UserError

from . import url_state
from .widgets import plain

_CHOICE = "choice"  # in the session, from `run_page` to `chosen`


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
    url_state.rename_old_values()
    url_state.note_page(page.url_path)
    return page


def run_page(page: Page, choice: Choice) -> None:
    """Title a page and run its script, with a message in place of what the user cannot have.

    A script takes no arguments: what the sidebar chose waits in the session until `chosen` takes it.
    """
    st.title(page.title)
    st.session_state[_CHOICE] = choice
    try:
        page.run()
    except UserError as error:
        st.warning(plain(str(error)), icon=":material/edit:")


def chosen() -> Choice:
    """What the sidebar chose in this run, for the page; taken away, so that no later run finds it."""
    if _CHOICE not in st.session_state:
        # Until app.py has run once in a server's life, Streamlit takes a link to a page in pages/ for a script of its
        # own and runs it alone. Registering the pages ends that; the next run begins at app.py.
        navigation()
        st.rerun()
    return st.session_state.pop(_CHOICE)
