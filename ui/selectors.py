"""Which step of the decoding a view looks at."""

import streamlit as st

from plots.text import quoted
from transformer.interpret.trace import Trace

from . import choices
from .widgets import plain


def choose_step(trace: Trace) -> int:
    """A slider over the steps, what was fed there and what follows; returns the step counted from 0."""
    steps = len(trace.next_ids)
    step = st.slider("Step", 1, steps, 1, key="logit_step", bind="query-params") - 1 if steps > 1 else 0
    so_far = " ".join(trace.fed_tokens[: step + 1])
    words = f"Step {step + 1} of {steps}. Fed so far: {so_far}. Next comes {quoted(trace.next_tokens[step])}."
    st.markdown(plain(words))
    return step


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
