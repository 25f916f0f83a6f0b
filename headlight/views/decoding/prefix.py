"""The tokens that a visitor forces at the beginning of a translation; they are in the address."""

import streamlit as st

from headlight.app import results, state
from headlight.app.finding import Templates
from headlight.app.results import TranslationRequest
from headlight.app.selection import parse_ids

TEMPLATES = Templates.beside(__file__)


def forced_ids(request: TranslationRequest) -> tuple[int, ...]:
    """Return the token ids that the translation must begin with; empty where nothing is forced. Raises UserError.

    A prefix leaves the address with its sentence. One that cannot begin a translation gets a message.
    """
    text = state.value("prefix")
    if not text:
        return ()
    ids = parse_ids(text)
    if not results.translator(request.checkpoint).may_begin_with(ids):
        st.warning(TEMPLATES.text("impossible"))
        return ()
    return ids


def force(text: str, **changes: str) -> None:
    """Let the translation begin with these token ids, joined by dots; "" forces none. To be called in a callback."""
    state.go(prefix=text, hypothesis="", **changes)
