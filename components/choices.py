"""Choices that several pages offer, with one place in the URL: layer, head, which token names a decoder row."""

from collections.abc import Sequence

import streamlit as st

AVERAGE = "average"


def layer_and_head(layers: int, heads: int) -> tuple[int | None, int | None]:
    """Two rows of buttons; returns layer and head counted from 0, None for the average over all."""
    layer = _numbered("Layer", layers, "layer", "average = the mean over all layers")
    head = _numbered("Head", heads, "head", "average = the mean over all heads")
    return layer, head


def row_label() -> str:
    """Which token names a decoder row: the one it was "fed" or the one it "predicted"."""
    return one_of(
        "Rows named after the token", ("predicted", "fed"), "rows",
        "While the decoder reads one token it predicts the next: each row has both, and hovering shows both.",
    )  # fmt: skip


def one_of(label: str, options: Sequence[str], key: str, explanation: str | None = None) -> str:
    """A row of buttons of which one is always chosen, the first to begin with; `key` is its name in the URL."""
    return st.segmented_control(
        label, options, default=options[0], required=True, key=key, bind="query-params", help=explanation, wrap=True
    )


def _numbered(label: str, count: int, key: str, explanation: str) -> int | None:
    chosen = one_of(label, (AVERAGE, *map(str, range(1, count + 1))), key, explanation)
    return None if chosen == AVERAGE else int(chosen) - 1
