"""What is chosen without a widget of Streamlit's and still belongs into the page's address."""

import re

import streamlit as st

_PAGES = "pages_seen"  # the page of the run before and the page of this run


def note_page(path: str) -> None:
    """Say which page this run shows; called once a run, before the page."""
    _, before = st.session_state.get(_PAGES, (None, None))
    st.session_state[_PAGES] = (before, path)


def remembered(key: str, default: str = "") -> str:
    """The value of `key` in the address, else the default; on coming back from another page, what it was then.

    Streamlit takes what is not bound to a widget out of the address when the page changes.
    """
    before, now = st.session_state.get(_PAGES, (None, None))
    kept = st.session_state.get(_own(key), default) if before != now else default
    value = st.query_params.get(key, kept)
    remember(key, value, default)
    return value


def remember(key: str, value: str, default: str = "") -> None:
    """Put the value into the address, or take it out where it is the default."""
    st.session_state[_own(key)] = value
    if value == default:
        if key in st.query_params:
            del st.query_params[key]
    elif st.query_params.get(key) != value:
        st.query_params[key] = value


def number(key: str, default: int) -> int:
    """A whole number from 1 on that is in the address, else the default."""
    said = remembered(key, str(default))
    return int(said) if re.fullmatch(r"[0-9]{1,6}", said) and int(said) else default


def _own(key: str) -> str:
    return f"address_{key}"
