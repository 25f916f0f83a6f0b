"""What several pages let one choose about a translation: layer and head, the step, the side, the token."""

import streamlit as st

from plots.text import quoted
from transformer.interpret.trace import Trace

from .choices import one_of, slider
from .widgets import plain

AVERAGE = "average"
SIDES = {"source": "encoder", "target": "decoder"}


def layer_and_head(layers: int, heads: int) -> tuple[int | None, int | None]:
    """Two rows of buttons; returns layer and head counted from 0, None for the average over all."""
    for key in ("layer", "head"):  # a page of single heads had to choose one in place of the average
        if st.session_state.pop(_kept(key), None) and st.session_state.get(key) == "1":
            st.session_state[key] = AVERAGE
    return layer_or_average("Layer", layers), _or_average("Head", heads, "head", "average = the mean over all heads")


def layer_or_average(label: str, layers: int) -> int | None:
    """The layer counted from 0, None for the average over all."""
    return _or_average(label, layers, "layer", "average = the mean over all layers")


def single_head(layers: int, heads: int) -> tuple[int, int]:
    """The same buttons without the average, for a page that needs one head; returns both counted from 0."""
    for key in ("layer", "head"):
        if st.session_state.get(key) == AVERAGE:  # chosen on another page
            st.session_state[key], st.session_state[_kept(key)] = "1", True
        elif st.session_state.get(key) != "1":
            st.session_state.pop(_kept(key), None)
    return one_number("Layer", layers, "layer") - 1, one_number("Head", heads, "head") - 1


def take_head(layer: int, head: int) -> None:
    """Choose a head, counted from 0, from elsewhere than its buttons; to be called in a callback."""
    st.session_state["layer"], st.session_state["head"] = str(layer + 1), str(head + 1)


def one_number(label: str, count: int, key: str) -> int:
    """A row of buttons with the numbers from 1 to `count`."""
    return int(one_of(label, _numbers(count), key))


def row_label() -> str:
    """Which token names a decoder row: its input token, "fed", or its output token, "predicted"."""
    return one_of(
        "Rows named after the token",
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


def _or_average(label: str, count: int, key: str, explanation: str) -> int | None:
    chosen = one_of(label, (AVERAGE, *_numbers(count)), key, explanation)
    return None if chosen == AVERAGE else int(chosen) - 1


def _numbers(count: int) -> tuple[str, ...]:
    return tuple(map(str, range(1, count + 1)))


def _kept(key: str) -> str:
    return f"{key}_was_average"
