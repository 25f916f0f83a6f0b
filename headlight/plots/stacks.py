"""Figures of one stack: a head's whole map with its four blocks, and the map that one block stands for."""

import numpy as np
import plotly.graph_objects as go

from headlight.language import texts_beside
from transformer.interpret.one_stack import BlockName, OneStackTrace
from transformer.interpret.trace import RowLabel, Trace

from . import attention
from .heatmap import BLANK, HALF_OF_WIDTH, Cells, Heatmap, heatmap_figure, hover_texts, weight_texts, weight_words
from .layout import Theme
from .tokens import token_label

_text = texts_beside(__file__)
_NAME_ROOM = 24  # pixels, below the map


def one_stack(trace: OneStackTrace, layer: int, head: int, *, theme: Theme = "paper") -> go.Figure:
    """Draw the map of a head, counted from 0, with its four blocks framed and named; masked cells are blank."""
    size, source = len(trace.tokens), len(trace.source_tokens)
    masked = ~np.tri(size, dtype=bool)
    if trace.prefix:
        masked[:source, :source] = False
    weights = np.where(masked, BLANK, trace.decoder[layer, head])
    first, middle, last = -0.5, source - 0.5, size - 0.5
    frames = f"M{first},{first}H{last}V{last}H{first}ZM{first},{middle}H{last}M{middle},{first}V{last}"
    hover = hover_texts([f"“{token_label(token)}”" for token in trace.tokens], trace.tokens, weight_words(weights))
    labels = trace.tokens, trace.tokens, _text("query"), _text("key")
    heatmap = Heatmap((Cells(weights, hover),), *labels, HALF_OF_WIDTH, weight_texts(weights), outline=frames)
    heatmap = heatmap.within(HALF_OF_WIDTH)
    figure, margin = heatmap_figure(heatmap, theme), heatmap.margin
    figure.update_layout(height=heatmap.height + _NAME_ROOM, margin=margin | {"b": margin["b"] + _NAME_ROOM})
    for name, position in _name_positions(source, size).items():
        opened = trace.prefix and name == BlockName.SOURCE_ON_SOURCE  # no masked cell of its own: beside it
        text = f"<b>{'← ' * opened}{_text(name.value.replace(' ', '_'))}</b>"
        figure.add_annotation(text=text, showarrow=False, **position | ({"xanchor": "left"} if opened else {}))
    return _linked(figure, 0, 0)


def one_stack_block(
    trace: OneStackTrace, name: BlockName | str, other: Trace, layer: int, head: int, *, theme: Theme = "paper"
) -> go.Figure:
    """Draw the map of an encoder-decoder's head, counted from 0, that a block of one stack stands for.

    trace, other: of the same tokens. Raises ValueError for the empty block.
    """
    block = trace.block(name)
    if block.name.kind is None:
        raise ValueError(f"no map stands for the block {name!r}: it is empty")
    figure = attention.head(other, block.name.kind, layer=layer, head=head, rows=RowLabel.FED, theme=theme)
    return _linked(figure, block.rows.start or 0, block.columns.start or 0)


def _linked(figure: go.Figure, row: int, column: int) -> go.Figure:
    """Let the page outline the same cells in both figures; row, column: of the first cell in the whole map."""
    return figure.update_layout(meta={**figure.layout.meta, "link": [row, column]})


def _name_positions(source: int, size: int) -> dict[BlockName, dict]:
    """Return positions of the blocks' names on masked cells, and below the map for the block without any."""
    inside = {"xanchor": "right", "yanchor": "top"}
    return {
        BlockName.SOURCE_ON_SOURCE: {"x": source - 0.6, "y": -0.4, **inside},
        BlockName.SOURCE_ON_TARGET: {"x": (source + size - 1) / 2, "y": (source - 1) / 2},
        BlockName.TARGET_ON_SOURCE: {"x": (source - 1) / 2, "y": size - 0.51, "yanchor": "top", "yshift": -4},
        BlockName.TARGET_ON_TARGET: {"x": size - 0.6, "y": source - 0.4, **inside},
    }
