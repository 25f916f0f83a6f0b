"""Choices that several pages offer, with one place in the URL: layer, head, which token names a decoder row."""

import streamlit as st

AVERAGE = "average"


def layer_and_head(layers: int, heads: int) -> tuple[int | None, int | None]:
    """Two rows of buttons; returns layer and head counted from 0, None for the average over all."""
    layer = _numbered("Layer", layers, "layer", "average = the mean over all layers")
    head = _numbered("Head", heads, "head", "average = the mean over all heads")
    return layer, head


def row_label() -> str:
    """Which token names a decoder row: the one it was "fed" or the one it "predicted"."""
    return st.segmented_control(
        "A row is named after the token it", ("predicted", "fed"), default="predicted", required=True,
        format_func={"predicted": "predicts", "fed": "was fed"}.get, key="rows", bind="query-params",
        help="While the decoder reads one token it predicts the next: each row has both, and hovering shows both.",
    )  # fmt: skip


def _numbered(label: str, count: int, key: str, explanation: str) -> int | None:
    chosen = st.segmented_control(
        label, (AVERAGE, *map(str, range(1, count + 1))), default=AVERAGE, required=True, key=key,
        bind="query-params", help=explanation,
    )  # fmt: skip
    return None if chosen == AVERAGE else int(chosen) - 1
