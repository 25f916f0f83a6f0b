"""The forced prefix: tokens with which the user makes a translation begin. Their ids stand in the address."""

import re

import streamlit as st

import session
from session import Choice
from ui import url_state

_SENTENCES = "prefix_sentences"  # in the session: which sentence a prefix was first seen with
_MOST_SENTENCES = 100


def forced_ids(choice: Choice) -> tuple[int, ...]:
    """The ids that the translation must begin with; empty where nothing is forced. Raises UserError.

    They belong to one sentence and are dropped with it, also when the Back button brings them to another one; what
    cannot begin a translation gets a message.
    """
    text = url_state.read("prefix")
    if not text:
        return ()
    sentence = (choice.checkpoint.name, choice.text)
    sentences = st.session_state.setdefault(_SENTENCES, {})
    if sentences.setdefault(text, sentence) != sentence:
        forget()
        return ()
    while len(sentences) > _MOST_SENTENCES:
        sentences.pop(next(iter(sentences)))
    ids = tuple(map(int, text.split("."))) if re.fullmatch(r"[0-9]{1,7}(\.[0-9]{1,7}){0,200}", text) else ()
    if not session.translator(choice.checkpoint).may_begin_with(ids):
        forget()
        st.warning("The address asks for pieces that cannot begin a translation: here is the model's own.")
        return ()
    return ids


def force(before: tuple[int, ...], id: int) -> None:
    """Force this token after those in `before`; the search goes on from there. To be called in a callback."""
    text = ".".join(map(str, (*before, id)))
    st.session_state.get(_SENTENCES, {}).pop(text, None)  # it may have been another sentence's
    url_state.write("prefix", text)
    if "hypothesis" in st.session_state:
        st.session_state["hypothesis"] = "1"


def forget() -> None:
    """Force nothing."""
    url_state.write("prefix", "")
