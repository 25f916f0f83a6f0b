"""Figures of positions: the table that a model adds, its waves, and a pair of its dimensions on a circle."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from transformer.interpret.positions import Encoding

from .heatmap import Cells
from .layout import GRID, Theme, bar_below, figure_of, integer_axis, integer_rows, scatter, titled
from .palette import BLUE, GREY, INK, LINE_GREY, MIDDLE_GREY, OLIVE, diverging

_ARC_RADIUS = 0.55
_TABLE_ENDS, _CURVES_BEGIN = 0.66, 0.72  # shares of the width
# Pixels, as many as Plotly finds that labels, titles and the colour bar take: with less, it draws all once more.
_AROUND_WAVES = {"l": 60, "r": 10, "t": 60, "b": 78}
_SINE, _COSINE = {"color": BLUE, "width": 2}, {"color": OLIVE, "width": 2, "dash": "dash"}


def positions(table: np.ndarray, *, theme: Theme = "paper") -> go.Figure:
    """Draw the vectors that a model adds at its positions, [length, d_model], learned or by a formula.

    `table`: of `transformer.interpret.positions.position_rows`. Rows are positions from 0, columns dimensions; the
    colours end at the largest absolute value.
    """
    x, y = {**integer_axis(table.shape[1], "dimension"), "side": "top"}, integer_rows(len(table), "position")
    return figure_of([_table_cells(table, float(np.abs(table).max()))], 480, theme=theme, x=x, y=y, top=10, bottom=60)


def waves(encoding: Encoding, pair: int, position: int, offset: int, *, theme: Theme = "paper") -> go.Figure:
    """Draw the table with one pair of dimensions in a ring, and to its right this pair as two waves, row by row.

    `encoding`: of `transformer.interpret.positions.model_encoding`. Marks stand at `position` and `position + offset`.
    Raises IndexError for a pair or a position outside the encoding.
    """
    rows, places = np.arange(encoding.length, dtype=np.int16), [position, position + offset]
    traces = [_table_cells(encoding.table, 1.0)]
    for part, (name, line) in enumerate((("sine", _SINE), ("cosine", _COSINE))):
        dimension = 2 * pair + part
        values = encoding.table[:, dimension]
        hover = (
            f"position %{{y}}<br>dimension {dimension}, {name} of pair {pair}<br>value <b>%{{x:.4f}}</b><extra></extra>"
        )
        look = {"xaxis": "x2", "hovertemplate": hover}
        traces.append(scatter(values, rows, "lines", line=line, name=f"dimension {dimension}: {name}", **look))
        marker = {"color": line["color"], "size": 10, "symbol": ["circle", "diamond"]}
        traces.append(scatter(values[places], places, "markers", marker=marker, **look))
    x = {**integer_axis(encoding.d_model, "dimension"), "side": "top", "domain": [0, _TABLE_ENDS]}
    values_axis = {**GRID, "title": titled("sine, cosine"), "side": "top", "range": [-1.1, 1.1], "tickvals": [-1, 0, 1]}
    ring = {
        "type": "rect",
        "xref": "x",
        "x0": 2 * pair - 0.5,
        "x1": 2 * pair + 1.5,
        "yref": "y domain",
        "y0": 0,
        "y1": 1,
    }
    shapes = [ring | {"line": {"color": INK, "width": 1.5}}, *map(_row_line, places)]
    second = {**values_axis, "domain": [_CURVES_BEGIN, 1]}
    more: dict[str, Any] = {"xaxis2": second, "shapes": shapes, "margin": _AROUND_WAVES}
    y = integer_rows(encoding.length, "position")
    return figure_of(traces, 440, theme=theme, x=x, y=y, showlegend=False, **more)


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
    x, y = _axis(f"dimension {2 * pair}: sine"), _axis(f"dimension {2 * pair + 1}: cosine")
    return figure_of(traces, 430, theme=theme, x=x, y={**y, "scaleanchor": "x"}, top=10, bottom=10)


def _table_cells(table: np.ndarray, limit: float) -> dict:
    scale = diverging(limit)
    cells = Cells(table, "position %{y}<br>dimension %{x}<br>value <b>%{z:.4f}</b>", scale)
    return cells.trace(bar_below("value", scale, length=220))


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
    hover = "position %{customdata}<br>sine %{x:.4f}, cosine %{y:.4f}<extra></extra>"
    look = {"name": "other positions", "marker": marker, "customdata": places, "hovertemplate": hover}
    return scatter(x, y, "markers", **look)


def _arc(start: float, swept: float, offset: int, degrees: float) -> dict:
    angles = np.linspace(start, start + swept, 61)
    x, y = _ARC_RADIUS * np.sin(angles), _ARC_RADIUS * np.cos(angles)
    look = {"line": {"color": GREY, "width": 3, "dash": "dot"}, "marker": _arrowhead(GREY, [0] * 60 + [12])}
    return scatter(x, y, "lines+markers", name=f"{offset} steps: {degrees:,.1f}°", hoverinfo="skip", **look)


def _arrow(point: np.ndarray, position: int, colour: str, dash: str) -> dict:
    x, y = [0, point[0]], [0, point[1]]
    look = {"line": {"color": colour, "width": 3, "dash": dash}, "marker": _arrowhead(colour, [0, 16])}
    hover = f"PE({position})<br>sine %{{x:.4f}}, cosine %{{y:.4f}}<extra></extra>"
    return scatter(x, y, "lines+markers", name=f"PE({position})", hovertemplate=hover, **look)


def _arrowhead(colour: str, sizes: list[int]) -> dict:
    return {"symbol": "arrow", "angleref": "previous", "size": sizes, "color": colour, "opacity": 1}


def _axis(name: str) -> dict:
    lines = {"showgrid": False, "zeroline": True, "zerolinecolor": LINE_GREY}
    size = {"range": [-1.15, 1.15], "tickvals": [-1, 0, 1], "automargin": True, "constrain": "domain"}
    return {"title": {"text": name}, **size, **lines}
