"""Which side and which token of it a view looks at."""

import streamlit as st

from transformer.trace import Trace

from . import choices

SIDES = {"source": "encoder", "target": "decoder"}


def choose_side() -> str:
    """The stack that a view looks at: "encoder" or "decoder"."""
    return SIDES[choices.one_of("Side", tuple(SIDES), "side")]


def choose_token(trace: Trace, stack: str) -> tuple[int, tuple[str, ...]]:
    """A token of this side, counted from 0, and all of them; decoder tokens are those that were fed."""
    tokens = trace.source_tokens if stack == "encoder" else trace.fed_tokens
    last = len(tokens)
    number = st.slider("Token", 1, last, min(2, last), key="token", bind="query-params") if last > 1 else 1
    return number - 1, tokens
