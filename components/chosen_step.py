"""Which step of the decoding a view looks at."""

import streamlit as st

from figures.captions import quoted
from transformer.trace import Trace

from .text import plain


def choose_step(trace: Trace) -> int:
    """A slider over the steps, what was fed there and what follows; returns the step counted from 0."""
    steps = len(trace.next_ids)
    step = st.slider("Step", 1, steps, 1, key="logit_step", bind="query-params") - 1 if steps > 1 else 0
    so_far = " ".join(trace.fed_tokens[: step + 1])
    words = f"Step {step + 1} of {steps}. Fed so far: {so_far}. Next comes {quoted(trace.next_tokens[step])}."
    st.markdown(plain(words))
    return step
