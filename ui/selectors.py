"""What several pages let one choose about a translation: the step, the side, the token, and how rows are named."""

import streamlit as st

from plots.text import quoted
from transformer.interpret.trace import Trace

from .choices import one_of, slider
from .widgets import plain

SIDES = {"source": "encoder", "target": "decoder"}


def one_number(label: str, count: int, key: str) -> int:
    """A row of buttons with the numbers from 1 to `count`."""
    return int(one_of(label, numbers(count), key))


def row_label() -> str:
    """Which token names a decoder row: its input token, "fed", or its output token, "predicted"."""
    return one_of(
        "Label decoder rows by the token",
        ("predicted", "fed"),
        "rows",
        "While the decoder reads one token it predicts the next: each row has both, and hovering shows both.",
    )


def choose_step(trace: Trace) -> int:
    """A slider over the steps of the decoding, with what was fed and what follows; returns the step from 0."""
    steps = len(trace.next_ids)
    step = slider("Step", 1, steps, "logit_step") - 1 if steps > 1 else 0
    so_far = " ".join(trace.fed_tokens[: step + 1])
    words = f"Step {step + 1} of {steps}. Fed so far: {so_far}. Next comes {quoted(trace.next_tokens[step])}."
    st.markdown(plain(words))
    return step


def choose_side() -> str:
    """The stack that a view looks at: "encoder" or "decoder"."""
    return SIDES[one_of("Side", tuple(SIDES), "side")]


def choose_token(trace: Trace, stack: str) -> tuple[int, tuple[str, ...]]:
    """A token of this side, counted from 0, and all of them; decoder tokens are those that were fed."""
    tokens = trace.source_tokens if stack == "encoder" else trace.fed_tokens
    last = len(tokens)
    number = slider("Token", 1, last, "token", start=min(2, last)) if last > 1 else 1
    return number - 1, tokens


def numbers(count: int) -> tuple[str, ...]:
    """From 1 to `count`, as the buttons and the address have them."""
    return tuple(map(str, range(1, count + 1)))
