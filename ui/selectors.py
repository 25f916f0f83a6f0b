"""What several pages let one choose about a translation: layer and head, the step, the side, the token."""

import streamlit as st

from plots.text import quoted
from transformer.interpret.trace import Trace

from . import url_state
from .choices import one_of, slider
from .widgets import plain

AVERAGE = "average"
_NOTED = "head_noted"  # in the session: the head at which the page before stands, as an address has it
SIDES = {"source": "encoder", "target": "decoder"}


def layer_and_head(layers: int, heads: int) -> tuple[int | None, int | None]:
    """Two rows of buttons; returns layer and head counted from 0, None for the average over all."""
    _restore_averages()
    layer = layer_or_average("Layer", layers)
    head = _or_average("Head", heads, "head", "average = the mean over all heads")
    _note(layer, head, beginning=(None, None))
    return layer, head


def layer_or_average(label: str, layers: int) -> int | None:
    """The layer counted from 0, None for the average over all."""
    return _or_average(label, layers, "layer", "average = the mean over all layers")


def head_from(start: tuple[int, int], layers: int, heads: int) -> tuple[int | None, int | None]:
    """The same on a page that begins with the head `start`, counted from 0, in place of the average over all.

    The address has layer and head together once one of them was chosen; where it has only one, as old links do, the
    other is the average. So the buttons cannot write into the address by themselves, each leaving out its own default.
    """
    _restore_averages()
    options = {"layer": (AVERAGE, *_numbers(layers)), "head": (AVERAGE, *_numbers(heads))}
    asked = url_state.asked_for(options)
    if not asked and url_state.came_from_another_page():
        noted = st.session_state.get(_NOTED, {})
        asked = {key: value for key, value in noted.items() if value in options[key]}
        if asked:
            url_state.write_all(asked)
    chosen = {key: asked.get(key, AVERAGE) for key in options} if asked else head_query(*start)
    if asked:
        st.session_state.update({**chosen, _NOTED: chosen})
    for key, label in (("layer", "Layer"), ("head", "Head")):
        _one_of_those_in_the_address(label, options[key], key, chosen)
    layer, head = (None if value == AVERAGE else int(value) - 1 for value in chosen.values())
    return layer, head


def head_query(layer: int | None, head: int | None) -> dict[str, str]:
    """A head or an average, counted from 0, as an address has it."""
    return {key: AVERAGE if number is None else str(number + 1) for key, number in (("layer", layer), ("head", head))}


def _one_of_those_in_the_address(label: str, options: tuple[str, ...], key: str, chosen: dict[str, str]) -> None:
    """A row of buttons beside its name, which shows what the address says and changes that alone."""
    own = f"{key}_buttons"
    st.session_state[own] = chosen[key]

    def choose() -> None:
        url_state.write_all({**chosen, key: st.session_state[own] or chosen[key]})

    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"compact_{key}"):
        st.markdown(label, width=44)
        st.segmented_control(
            label, options, required=True, key=own, on_change=choose, label_visibility="collapsed", wrap=True
        )


def _note(layer: int | None, head: int | None, beginning: tuple[int | None, int | None] | None = None) -> None:
    """Remember at which head a page stands, for one that follows; not where pages begin unless that was chosen."""
    if (layer, head) != beginning or _NOTED in st.session_state:
        st.session_state[_NOTED] = head_query(layer, head)


def _restore_averages() -> None:
    """A page of single heads had to choose one in place of the average."""
    for key in ("layer", "head"):
        if st.session_state.pop(_kept(key), None) and st.session_state.get(key) == "1":
            st.session_state[key] = AVERAGE


def single_head(layers: int, heads: int) -> tuple[int, int]:
    """The same buttons without the average, for a page that needs one head; returns both counted from 0."""
    for key in ("layer", "head"):
        if st.session_state.get(key) == AVERAGE:  # chosen on another page
            st.session_state[key], st.session_state[_kept(key)] = "1", True
        elif st.session_state.get(key) != "1":
            st.session_state.pop(_kept(key), None)
    layer, head = one_number("Layer", layers, "layer") - 1, one_number("Head", heads, "head") - 1
    instead = [st.session_state.get(_kept(key)) for key in ("layer", "head")]
    _note(*(None if kept else number for kept, number in zip(instead, (layer, head), strict=True)), beginning=(0, 0))
    return layer, head


def take_head(layer: int, head: int) -> None:
    """Choose a head, counted from 0, from elsewhere than its buttons; to be called in a callback."""
    st.session_state["layer"], st.session_state["head"] = str(layer + 1), str(head + 1)
    _note(layer, head)


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
