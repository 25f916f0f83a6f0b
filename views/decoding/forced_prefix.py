"""A translation that the visitor bends: pieces taken instead of the model's own choice. They live in the address."""

import re

import streamlit as st

from transformer import Translator
from ui import url_state as address
from ui.sidebar import Choice

_KEY, _OWNERS = "prefix", "prefix_owners"
_MOST_OWNERS = 100


def taken_pieces(choice: Choice, translator: Translator) -> tuple[int, ...]:
    """The ids that the translation must begin with; empty where the visitor left it to the model.

    They belong to one sentence and are dropped with it, also when the Back button brings them to another one; what
    cannot begin a translation gets a message.
    """
    text = address.remembered(_KEY)
    if not text:
        return ()
    sentence = (choice.checkpoint, choice.text)
    owners = st.session_state.setdefault(_OWNERS, {})
    if owners.setdefault(text, sentence) != sentence:
        leave_it_to_the_model()
        return ()
    while len(owners) > _MOST_OWNERS:
        owners.pop(next(iter(owners)))
    ids = tuple(map(int, text.split("."))) if re.fullmatch(r"[0-9]{1,7}(\.[0-9]{1,7}){0,200}", text) else ()
    if not translator.may_begin_with(ids):
        leave_it_to_the_model()
        st.warning("The address asks for pieces that cannot begin a translation: here is the model's own.")
        return ()
    return ids


def take(before: tuple[int, ...], id: int) -> None:
    """After the pieces in `before`, take this one; the search goes on from there. To be called in a callback."""
    text = ".".join(map(str, (*before, id)))
    st.session_state.get(_OWNERS, {}).pop(text, None)  # it may have been another sentence's
    address.remember(_KEY, text)
    if "hypothesis" in st.session_state:
        st.session_state["hypothesis"] = "1"


def leave_it_to_the_model() -> None:
    """Forget what was taken."""
    address.remember(_KEY, "")
