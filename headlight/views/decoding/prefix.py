"""The tokens that a visitor forces at the beginning of a translation; they are in the address."""

import streamlit as st

from headlight.app import results, state
from headlight.app.results import TranslationRequest
from headlight.app.selection import parse_ids


def forced_ids(request: TranslationRequest) -> tuple[int, ...]:
    """Return the token ids that the translation must begin with; empty where nothing is forced. Raises UserError.

    A prefix leaves the address with its sentence. One that cannot begin a translation gets a message.
    """
    text = state.value("prefix")
    if not text:
        return ()
    ids = parse_ids(text)
    if not results.translator(request.checkpoint).may_begin_with(ids):
        st.warning("The address asks for tokens that cannot begin a translation: here is the model's own.")
        return ()
    return ids


def force(text: str, **changes: str) -> None:
    """Let the translation begin with these token ids, joined by dots; "" forces none. To be called in a callback."""
    state.go(prefix=text, hypothesis="", **changes)
