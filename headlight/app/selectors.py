"""What several pages let one choose about a translation: the step, the side, the token, and how rows are named."""

from collections.abc import Mapping

import streamlit as st

from headlight.plots.text import quoted
from transformer.interpret.trace import Trace

from . import url_state
from .choices import one_of, slider
from .widgets import plain

SIDES = {"source": "encoder", "target": "decoder"}


def one_number(label: str, count: int, key: str) -> int:
    """A row of buttons with the numbers from 1 to `count`."""
    return int(one_of(label, numbers(count), key))


def row_label() -> str:
    """Which token names a decoder row: its input token, "fed", or its output token, "predicted"."""
    chosen = one_of(
        "Label decoder rows by",
        ("output token", "input token"),
        "rows",
        "While the decoder reads one token it predicts the next: each row has both, and hovering shows both.",
    )
    return "fed" if chosen == "input token" else "predicted"


def choose_step(trace: Trace) -> int:
    """A slider over the steps of the decoding, with what was fed and what follows; returns the step from 0."""
    steps = len(trace.target_ids)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        step = slider("Step", 1, steps, "logit_step", width=240) - 1 if steps > 1 else 0
        so_far = " ".join(trace.decoder_input_tokens[: step + 1])
        comes = "Next comes" if step in trace.scored_steps else "Not chosen but given comes"
        words = f"Step {step + 1} of {steps}. Fed so far: {so_far}. {comes} {quoted(trace.target_tokens[step])}."
        st.markdown(plain(words))
    return step


def choose_output_token(trace: Trace, key: str, start: int) -> int:
    """A slider over the output tokens, which begins anew at `start` with each sentence; both count from 0."""
    count, first = len(trace.target_ids), str(start + 1)
    number = min(url_state.read_number(key, start + 1), count)
    if count > 1:
        own = f"{key}_slider"
        st.session_state[own] = number

        def choose() -> None:
            url_state.write(key, str(st.session_state[own]), first)

        st.slider("Output token", 1, count, key=own, on_change=choose, width=360)
    return number - 1


def choose_among(label: str, options: Mapping[str, str], key: str, start: str) -> str:
    """A list of `options`, what the address has by what is shown, from which `start` is taken where it has none.

    It begins anew with each sentence.
    """
    asked, own = url_state.read(key, start), f"{key}_list"
    st.session_state[own] = asked if asked in options else start

    def choose() -> None:
        url_state.write(key, st.session_state[own], start)

    return st.selectbox(label, list(options), format_func=options.__getitem__, key=own, on_change=choose, width=260)


def write_line(label: str, key: str, start: str, subject: str) -> str:
    """A box for a line of text about a `subject`; with another one it begins anew at `start`."""
    own, noted = f"{key}_line", f"{key}_subject"
    asked = url_state.read(key, start)
    about, before = st.session_state.get(noted, (subject, asked))
    if about != subject and asked == before:  # on the Back button both change
        asked = start
        url_state.write(key, start, start)
    st.session_state[noted] = subject, asked
    st.session_state[own] = asked

    def take() -> None:
        url_state.write(key, st.session_state[own], start)

    return st.text_input(label, key=own, on_change=take)


def choose_side() -> str:
    """The stack that a view looks at: "encoder" or "decoder"."""
    return SIDES[one_of("Side", tuple(SIDES), "side")]


def choose_token(trace: Trace, stack: str) -> tuple[int, tuple[str, ...]]:
    """A token of this side, counted from 0, and all of them; decoder tokens are those that were fed."""
    tokens = trace.source_tokens if stack == "encoder" else trace.decoder_input_tokens
    last = len(tokens)
    number = slider("Token", 1, last, "token", start=min(2, last)) if last > 1 else 1
    return number - 1, tokens


def numbers(count: int) -> tuple[str, ...]:
    """From 1 to `count`, as the buttons and the address have them."""
    return tuple(map(str, range(1, count + 1)))
