"""A page's title, and room for its views beside it: one row of the screen instead of two."""

import contextlib
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

HOME = Path(__file__).with_name("home.css")
_ROOM = "beside_title"  # in the session, from `show_title` to `beside_title`


def show_name() -> None:
    """The name of the whole, and what it is in one sentence: the top of the home.

    Its style is on this page alone. As a `:has()` in the style of all pages, it made every change of any page, and each
    label that Plotly measures, ask for the style of the whole page anew: 14 ms instead of 0.5.
    """
    with st.container(gap=None, key="name"):
        st.html(HOME)
        st.title("Headlight", anchor=False)
        st.markdown("See a Transformer translate, head by head: type a sentence, and every number is the model's own.")


def show_title(title: str) -> None:
    """The page's title; what the page puts `beside_title` stands in the same row."""
    row = st.container(horizontal=True, vertical_alignment="center", gap="medium", key="title_row")
    row.title(title, anchor=False, width="content")
    st.session_state[_ROOM] = row.container(width="content")


def beside_title() -> DeltaGenerator | contextlib.AbstractContextManager:
    """The room beside the title, once a run; where there is none, what comes next stands where it is."""
    return st.session_state.pop(_ROOM, contextlib.nullcontext())
