"""Figures of positions: the table that a model adds, and a pair of its dimensions on a circle."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from headlight.language import texts_beside
from transformer.interpret.positions import Encoding

from .heatmap import Cells
from .layout import Theme, bar_below, figure_of, integer_axis, integer_rows, scatter, token_rows
from .palette import BLUE, GREY, INK, LINE_GREY, MIDDLE_GREY, OLIVE, diverging

_text = texts_beside(__file__)
_ARC_RADIUS = 0.55
_ROW, _LEAST_ROW, _ROOM = 24, 13, 300  # pixels of a sentence's rows
# Pixels, as many as Plotly finds that labels, titles and the colour bar take: with less, it draws all once more.
_AROUND_WAVES = {"l": 60, "r": 10, "t": 60, "b": 78}


def positions(table: np.ndarray, tokens: Sequence[str] = (), *, theme: Theme = "paper") -> go.Figure:
    """Draw the vectors that a model adds at its positions, [length, d_model], learned or by a formula.

    `table`: of `transformer.interpret.positions.position_rows`. Rows are positions from 0, columns dimensions; the
    colours end at the largest absolute value. tokens: of a sentence, which name the rows of a table as long as it.
    """
    x = {**integer_axis(table.shape[1], _text("dimension")), "side": "top"}
    cells = _table_cells(table, float(np.abs(table).max()))
    if not tokens:
        y = integer_rows(len(table), _text("position"))
        return figure_of([cells], 480, theme=theme, x=x, y=y, top=10, bottom=60)
    height = max(_LEAST_ROW, min(_ROW, _ROOM // len(tokens))) * len(tokens) + 60
    cells = {**cells, "showscale": False}
    return figure_of([cells], height, theme=theme, x=x, y=token_rows(tokens), top=10, bottom=10)


def waves(encoding: Encoding, pair: int, position: int, offset: int, *, theme: Theme = "paper") -> go.Figure:
    """Draw the table with one pair of dimensions in a ring, and dotted lines at `position` and `position + offset`.

    `encoding`: of `transformer.interpret.positions.model_encoding`. Raises IndexError for a pair or a position outside
    the encoding.
    """
    if not (0 <= 2 * pair < encoding.d_model and 0 <= position + offset < encoding.length):
        raise IndexError(f"pair {pair} or position {position + offset} is outside a table {encoding.table.shape}")
    left, ends = 2 * pair - 0.5, {"xref": "x", "yref": "y domain", "y0": 0, "y1": 1}
    ring = {"type": "rect", "x0": left, "x1": left + 2, **ends, "line": {"color": INK, "width": 1.5}}
    x = {**integer_axis(encoding.d_model, _text("dimension")), "side": "top"}
    more: dict[str, Any] = {"shapes": [ring, *map(_row_line, (position, position + offset))], "margin": _AROUND_WAVES}
    y = integer_rows(encoding.length, _text("position"))
    return figure_of([_table_cells(encoding.table, 1.0)], 440, theme=theme, x=x, y=y, showlegend=False, **more)


def rotation(encoding: Encoding, pair: int, position: int, offset: int, *, theme: Theme = "paper") -> go.Figure:
    """Draw the unit circle: sine to the right, cosine upwards, PE(position) and PE(position + offset) as arrows.

    Position 0 points straight up and later ones follow clockwise. Full turns of the angle between both are left out of
    its arc. Raises IndexError for a pair or a position that the encoding does not have.
    """
    points = encoding.pairs[:, pair]  # length (sine, cosine)
    angle = encoding.frequencies[pair]
    start, swept = position * angle, (offset * angle) % (2 * np.pi)
    later = position + offset
    traces = [
        _circle(),
        _other_positions(points),
        _arc(start, swept, offset, np.degrees(offset * angle)),
        _arrow(points[position], position, BLUE, "solid"),
        _arrow(points[later], later, OLIVE, "dash"),
    ]
    x, y = _axis(_text("sine", dimension=2 * pair)), _axis(_text("cosine", dimension=2 * pair + 1))
    return figure_of(traces, 430, theme=theme, x=x, y={**y, "scaleanchor": "x"}, top=10, bottom=10)


def _table_cells(table: np.ndarray, limit: float) -> dict:
    scale = diverging(limit)
    cells = Cells(table, _text("cell_hover"), scale)
    return cells.trace(bar_below(_text("value"), scale, length=220))


def _row_line(position: int) -> dict:
    line = {"color": INK, "width": 1, "dash": "dot"}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": position, "y1": position, "line": line}


def _circle() -> dict:
    angles = np.linspace(0, 2 * np.pi, 91)
    line = {"color": MIDDLE_GREY, "width": 1}
    return scatter(np.sin(angles), np.cos(angles), "lines", line=line, hoverinfo="skip", showlegend=False)


def _other_positions(points: np.ndarray) -> dict:
    x, y = points.T.astype(np.float32)
    marker, places = {"color": MIDDLE_GREY, "size": 5}, np.arange(len(points), dtype=np.int16)
    look = {"name": _text("others"), "marker": marker, "customdata": places, "hovertemplate": _text("other_hover")}
    return scatter(x, y, "markers", **look)


def _arc(start: float, swept: float, offset: int, degrees: float) -> dict:
    angles = np.linspace(start, start + swept, 61)
    x, y = _ARC_RADIUS * np.sin(angles), _ARC_RADIUS * np.cos(angles)
    look = {"line": {"color": GREY, "width": 3, "dash": "dot"}, "marker": _arrowhead(GREY, [0] * 60 + [12])}
    return scatter(x, y, "lines+markers", name=_text("arc", steps=offset, degrees=degrees), hoverinfo="skip", **look)


def _arrow(point: np.ndarray, position: int, colour: str, dash: str) -> dict:
    x, y = [0, point[0]], [0, point[1]]
    look = {"line": {"color": colour, "width": 3, "dash": dash}, "marker": _arrowhead(colour, [0, 16])}
    hover = _text("arrow_hover", position=position)
    return scatter(x, y, "lines+markers", name=f"PE({position})", hovertemplate=hover, **look)


def _arrowhead(colour: str, sizes: list[int]) -> dict:
    return {"symbol": "arrow", "angleref": "previous", "size": sizes, "color": colour, "opacity": 1}


def _axis(name: str) -> dict:
    lines = {"showgrid": False, "zeroline": True, "zerolinecolor": LINE_GREY}
    size = {"range": [-1.15, 1.15], "tickvals": [-1, 0, 1], "automargin": True, "constrain": "domain"}
    return {"title": {"text": name}, **size, **lines}
