"""Figures of one stack: a head's whole map with its four blocks, and the map that one block stands for."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.interpret.one_stack import BlockName, OneStackTrace
from transformer.interpret.trace import RowLabel, Trace, attention_map

from .heatmap import BLANK, HALF_OF_WIDTH, Cells, Heatmap, axis_names, hover_texts, weight_texts, weight_words
from .heatmap import heatmap_figure as draw
from .layout import Theme
from .texts import texts_beside
from .tokens import token_label

_text = texts_beside(__file__)
_NAME_ROOM = 24  # pixels, below the map


def one_stack(
    trace: OneStackTrace, layer: int, head: int, other: np.ndarray | None = None, *, theme: Theme = "paper"
) -> go.Figure:
    """Draw the map of a head, counted from 0, with its four blocks framed and named; masked cells are blank.

    other: weights of another model, NaN where it has none, [tokens, tokens], which the hover texts add.
    """
    size, source = len(trace.tokens), len(trace.source_tokens)
    masked = ~np.tri(size, dtype=bool)
    if trace.prefix:
        masked[:source, :source] = False
    weights = np.where(masked, BLANK, trace.decoder[layer, head])
    frames = "".join(_frame(*corner) for corner in _corners(source, size))
    hover = _hover(trace.tokens, trace.tokens, weights, other, "other_encoder_decoder")
    labels, texts = (trace.tokens, trace.tokens, _text("query"), _text("key")), weight_texts(weights)
    heatmap = Heatmap((Cells(weights, hover),), *labels, HALF_OF_WIDTH, texts, outline=frames).within(HALF_OF_WIDTH)
    figure = draw(heatmap, theme)
    margin = heatmap.margin
    figure.update_layout(height=heatmap.height + _NAME_ROOM, margin=margin | {"b": margin["b"] + _NAME_ROOM})
    for name, position in _name_positions(source, size).items():
        opened = trace.prefix and name == BlockName.SOURCE_ON_SOURCE  # no masked cell of its own: beside it
        text = f"<b>{'← ' * opened}{_text(name.value.replace(' ', '_'))}</b>"
        figure.add_annotation(text=text, showarrow=False, **position | ({"xanchor": "left"} if opened else {}))
    return _linked(figure, 0, 0)


def one_stack_block(
    trace: OneStackTrace,
    head: tuple[int, int],
    name: BlockName,
    other: Trace,
    other_head: tuple[int, int],
    *,
    theme: Theme = "paper",
) -> go.Figure:
    """Draw the map of an encoder-decoder's head that a block stands for; its hover texts add the block's weights.

    trace and other: of the same tokens; head and other_head: layer and head in each, from 0. Raises ValueError for
    the empty block.
    """
    if name.kind is None:
        raise ValueError(f"no map stands for the block {name!r}: it is empty")
    shown = attention_map(other, name.kind, *other_head, RowLabel.FED)
    hover = _hover(shown.queries, shown.keys, shown.weights, trace.block(name).weights[head], "other_one_stack")
    names, texts = axis_names(shown.kind, shown.row_label), weight_texts(shown.weights)
    heatmap = Heatmap((Cells(shown.weights, hover),), shown.queries, shown.keys, *names, HALF_OF_WIDTH, texts)
    part = trace.block(name)
    return _linked(draw(heatmap.within(HALF_OF_WIDTH), theme), part.rows.start or 0, part.columns.start or 0)


def _linked(figure: go.Figure, row: int, column: int) -> go.Figure:
    """Let the page outline the same cells in both figures; row, column: of the first cell in the whole map."""
    return figure.update_layout(meta={**figure.layout.meta, "link": [row, column]})


def _hover(
    queries: Sequence[str], keys: Sequence[str], weights: np.ndarray, other: np.ndarray | None, name: str
) -> list[list[str]]:
    """Return the hover texts of all cells, with the weights of the other model where it has one."""
    hover = hover_texts([f"“{token_label(query)}”" for query in queries], keys, weight_words(weights))
    if other is None:
        return hover
    added = weight_words(other, _text(name))
    return [
        [f"{text}<br>{more}" if more else text for text, more in zip(*line, strict=True)]
        for line in zip(hover, added, strict=True)
    ]


def _corners(source: int, size: int) -> list[tuple[float, float, float, float]]:
    """Return left, top, right and bottom of the four blocks."""
    halves = (-0.5, source - 0.5), (source - 0.5, size - 0.5)
    return [(left, top, right, bottom) for top, bottom in halves for left, right in halves]


def _frame(left: float, top: float, right: float, bottom: float) -> str:
    return f"M{left},{top}H{right}V{bottom}H{left}Z"


def _name_positions(source: int, size: int) -> dict[BlockName, dict]:
    """Return positions of the blocks' names on masked cells, and below the map for the block without any."""
    inside = {"xanchor": "right", "yanchor": "top"}
    return {
        BlockName.SOURCE_ON_SOURCE: {"x": source - 0.6, "y": -0.4, **inside},
        BlockName.SOURCE_ON_TARGET: {"x": (source + size - 1) / 2, "y": (source - 1) / 2},
        BlockName.TARGET_ON_SOURCE: {"x": (source - 1) / 2, "y": size - 0.51, "yanchor": "top", "yshift": -4},
        BlockName.TARGET_ON_TARGET: {"x": size - 0.6, "y": source - 0.4, **inside},
    }
