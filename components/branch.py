"""A translation that the visitor bends: pieces taken instead of the model's own choice. They live in the address."""

import re

import streamlit as st

from transformer import Translator

from . import address
from .sidebar import Choice

_KEY, _OWNER = "prefix", "prefix_owner"


def taken_pieces(choice: Choice, translator: Translator) -> tuple[int, ...]:
    """The ids that the translation must begin with; empty where the visitor left it to the model.

    They belong to one sentence and are dropped with it; what no address of ours would say gets a message.
    """
    text = address.remembered(_KEY)
    owner = (choice.checkpoint, choice.text)
    if st.session_state.get(_OWNER, owner) != owner:
        text = ""
        address.remember(_KEY, text)
    if not text:
        st.session_state.pop(_OWNER, None)
        return ()
    st.session_state[_OWNER] = owner
    ids = tuple(map(int, text.split("."))) if re.fullmatch(r"[0-9]{1,7}(\.[0-9]{1,7}){0,200}", text) else ()
    if not ids or not translator.may_begin_with(ids):
        leave_it_to_the_model()
        st.warning("The address asks for pieces that this model has not: here is its own translation.")
        return ()
    return ids


def take(before: tuple[int, ...], id: int) -> None:
    """After the pieces in `before`, take this one; the search goes on from there."""
    address.remember(_KEY, ".".join(map(str, (*before, id))))
    if "hypothesis" in st.session_state:
        st.session_state["hypothesis"] = "1"


def leave_it_to_the_model() -> None:
    """Forget what was taken."""
    address.remember(_KEY, "")
