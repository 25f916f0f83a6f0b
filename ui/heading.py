"""A page's title, and room for its views beside it: one row of the screen instead of two."""

import contextlib

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

_ROOM = "beside_title"  # in the session, from `show_title` to `beside_title`


def show_name() -> None:
    """The name of the whole, and what it is in one sentence: the top of the home."""
    with st.container(gap=None, key="name"):
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
