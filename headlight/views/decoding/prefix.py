"""The tokens that a visitor forces at the beginning of a translation; they are in the address."""

import streamlit as st

from headlight.app import results, url_state
from headlight.app.results import TranslationRequest

_SENTENCES = "prefix_sentences"  # in the session: the sentence for which each prefix was first seen
_MOST_SENTENCES = 100


def forced_ids(request: TranslationRequest) -> tuple[int, ...]:
    """Return the token ids that the translation must begin with; empty where nothing is forced. Raises UserError.

    A prefix belongs to one sentence and is dropped with it, also when the Back button brings it to another sentence.
    A prefix that cannot begin a translation gets a message.
    """
    text = url_state.read("prefix")
    if not text:
        return ()
    sentence = (request.checkpoint.name, results.source(request))
    sentences = st.session_state.setdefault(_SENTENCES, {})
    if sentences.setdefault(text, sentence) != sentence:
        forget()
        return ()
    while len(sentences) > _MOST_SENTENCES:
        sentences.pop(next(iter(sentences)))
    ids = url_state.token_ids(text)
    if not results.translator(request.checkpoint).may_begin_with(ids):
        forget()
        st.warning("The address asks for tokens that cannot begin a translation: here is the model's own.")
        return ()
    return ids


def force(text: str) -> None:
    """Let the translation begin with these token ids, joined by dots; "" forces none. To be called in a callback."""
    st.session_state.get(_SENTENCES, {}).pop(text, None)  # it may have been another sentence's
    url_state.write("prefix", text)
    url_state.write("hypothesis", "1")


def forget() -> None:
    """Force nothing."""
    url_state.write("prefix", "")
