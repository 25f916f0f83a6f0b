"""Figures of what if: patching, and a given translation."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from headlight.language import texts_beside
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.patching import Cell, PatchingMap, Site
from transformer.model.names import Stack

from .heatmap import Cells, cell_lines, cell_texts
from .layout import (
    GRID,
    Theme,
    bar_below,
    digits_in_cells,
    figure_of,
    integer_axis,
    label_rows,
    scatter,
    titled,
    token_axis,
)
from .names import kind_words
from .numbers import signed
from .palette import CHANGED, INK, PROBABILITY, diverging
from .tokens import token_label

_text = texts_beside(__file__)
_SCALE = diverging(1.0, 0.72)  # digits stand on the cells
_ROW, _LEAST_ROW, _ROOM = 54, 24, 420  # pixels
_MOST_WITH_DIGITS, _MOST_UPRIGHT = 20, 9  # columns


def patching(
    patched: PatchingMap, columns: Sequence[str], chosen: tuple[int, int] | None = None, *, theme: Theme = "paper"
) -> go.Figure:
    """Draw the share of a logit difference that each patched cell restores, 1 being all; a ring around `chosen`.

    `found`: of `transformer.interpret.what_if.patching.patching_map`, `columns` its `column_names`.
    """
    shares, rows = patched.shares, patched.row_names()
    names, words = list(map(token_label, columns)), _text("restored")
    hover = cell_texts(
        lambda row, column, each: f"{row}, {column}<br>{words} <b>{100 * each:.1f} %</b>", rows, names, shares
    )
    cells = Cells(shares, hover, _SCALE, _text("bar"))
    traces = [cells.trace(bar_below(cells.bar, _SCALE, length=260), gap=2)]
    if len(columns) <= _MOST_WITH_DIGITS:
        traces.append(digits_in_cells(shares, lambda share: signed(100 * share, 0)))
    height = max(_LEAST_ROW, min(_ROW, _ROOM // len(rows)))
    upright = len(columns) <= _MOST_UPRIGHT
    title = titled(_column_title(patched.cells[0][0]))
    x = token_axis(columns) | {"side": "top", "tickangle": 0 if upright else -60, "title": title}
    if upright:
        x["ticktext"] = [label.replace(" | ", " |<br>") for label in x["ticktext"]]
    y = label_rows(rows)
    row, column = patched.default_cell() if chosen is None else chosen
    left, top = column - 0.5, row - 0.5
    ring = {"type": "rect", "x0": left, "x1": left + 1, "y0": top, "y1": top + 1, "line": {"color": INK, "width": 2}}
    shapes = [cell_lines(len(rows), len(columns)), ring]
    height = height * len(rows) + 125
    return figure_of(traces, height, theme=theme, x=x, y=y, top=10, bottom=60, shapes=shapes, showlegend=False)


def _column_title(cell: Cell) -> str:
    if cell.site == Site.HEAD:
        return kind_words(cell.part)
    return _text("input_token" if cell.stack == Stack.DECODER else "source_token")


def log_probabilities(trace: Trace, other: Trace, *, theme: Theme = "paper") -> go.Figure:
    """Draw log P of a translation that was given, in nats, added up token by token, beside the model's own, `other`.

    Both lines begin at 0 and end at log P of the whole; where one falls, a token was not expected.
    """
    lines = (trace, "yours", CHANGED, "circle"), (other, "own", PROBABILITY, "square")
    traces = [_line(each, _text(name), *look) for each, name, *look in lines]
    longest = max(len(trace.target_ids), len(other.target_ids))
    x, y = integer_axis(longest + 1, _text("tokens")), {**GRID, "title": _text("log_p")}
    return figure_of(traces, 260, theme=theme, x=x, y=y)


def _line(trace: Trace, name: str, colour: str, symbol: str) -> dict:
    sums = np.concatenate([[0.0], trace.log_probabilities.cumsum()])
    tokens = [_text("after", token=token_label(token)) for token in trace.target_tokens]
    hover = [f"{name}{token}: <b>{signed(value, 2)}</b>" for token, value in zip(["", *tokens], sums, strict=True)]
    look = {"line": {"color": colour}, "marker": {"color": colour, "symbol": symbol, "size": 8}}
    return scatter(list(range(len(sums))), sums, "lines+markers", name=name, hovertext=hover, hoverinfo="text", **look)
