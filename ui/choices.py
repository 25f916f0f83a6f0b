"""Choices that several pages offer, with one place in the URL: layer, head, which token names a decoder row."""

from collections.abc import Sequence

import streamlit as st

AVERAGE = "average"


def layer_and_head(layers: int, heads: int) -> tuple[int | None, int | None]:
    """Two rows of buttons; returns layer and head counted from 0, None for the average over all."""
    for key in ("layer", "head"):  # a page of single heads had to choose one in place of the average
        if st.session_state.pop(_kept(key), None) and st.session_state.get(key) == "1":
            st.session_state[key] = AVERAGE
    layer = _numbered("Layer", layers, "layer", "average = the mean over all layers")
    head = _numbered("Head", heads, "head", "average = the mean over all heads")
    return layer, head


def single_head(layers: int, heads: int) -> tuple[int, int]:
    """The same buttons without the average, for a page that needs one head; returns both counted from 0."""
    for key in ("layer", "head"):
        if st.session_state.get(key) == AVERAGE:  # chosen on another page
            st.session_state[key], st.session_state[_kept(key)] = "1", True
        elif st.session_state.get(key) != "1":
            st.session_state.pop(_kept(key), None)
    layer = one_of("Layer", tuple(map(str, range(1, layers + 1))), "layer")
    head = one_of("Head", tuple(map(str, range(1, heads + 1))), "head")
    return int(layer) - 1, int(head) - 1


def take_head(layer: int, head: int) -> None:
    """Choose a head, counted from 0, from elsewhere than its buttons; to be called in a callback."""
    st.session_state["layer"], st.session_state["head"] = str(layer + 1), str(head + 1)


def row_label() -> str:
    """Which token names a decoder row: the one it was "fed" or the one it "predicted"."""
    return one_of(
        "Rows named after the token", ("predicted", "fed"), "rows",
        "While the decoder reads one token it predicts the next: each row has both, and hovering shows both.",
    )  # fmt: skip


def one_of(
    label: str, options: Sequence[str], key: str, explanation: str | None = None, start: str | None = None
) -> str:
    """A row of buttons of which one is always chosen: `start`, else the first, to begin with.

    `key` is its name in the URL.
    """
    start = start or options[0]
    chosen = st.segmented_control(
        label,
        options,
        default=start,
        required=True,
        key=key,
        bind="query-params",
        help=explanation,
        wrap=True,
    )
    return chosen or start  # an address that says "kind=" chooses nothing


def whole_number(label: str, first: int, last: int, start: int, key: str, explanation: str | None = None) -> int:
    """A box for a number from `first` to `last`; what lies between two becomes the nearer one.

    Streamlit's box for whole numbers breaks on a link that says "inf", so this one is for decimals.
    """
    value = st.number_input(
        label, float(first), float(last), float(start), 1.0, "%.0f", key=key, bind="query-params", help=explanation
    )
    return round(value)


def _numbered(label: str, count: int, key: str, explanation: str) -> int | None:
    chosen = one_of(label, (AVERAGE, *map(str, range(1, count + 1))), key, explanation)
    return None if chosen == AVERAGE else int(chosen) - 1


def _kept(key: str) -> str:
    return f"{key}_was_average"
