"""Positional encoding drawn: curves, matrix, dot products, wavelengths."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from plots.palette import diverging_heatmap, integer_axis, rows_axis
from transformer.interpret.positions import DistanceLaw, Encoding

# Okabe and Ito's colours, those that stand out from white and from black alike.
PAIR_COLOURS = ("#1f77e0", "#e8710a", "#009e73", "#cc79a7", "#56b4e9", "#a5673f", "#8a8a8a", "#b8a000")
PAIR_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down")
SETTINGS_COLOUR, MODEL_COLOUR = PAIR_COLOURS[:2]
SETTINGS_NAME, MODEL_NAME = "these settings", "this model"

_MARGIN = {"l": 10, "r": 10, "t": 10, "b": 10}
_GRID = {"gridcolor": "rgba(128, 128, 128, 0.25)", "zeroline": False, "automargin": True}


def curves_figure(encoding: Encoding, dimensions: Sequence[int]) -> go.Figure:
    """The value of each chosen dimension over position; a pair shares its colour, the cosine's line is dashed.

    A pair's colour and markers depend on its rank among all chosen ones, so that two figures agree; dimensions that
    the encoding does not have are left out.
    """
    chosen = sorted({dimension // 2 for dimension in dimensions})
    figure = go.Figure()
    for dimension in sorted(dimensions):
        if dimension >= encoding.d_model:
            continue
        pair = dimension // 2
        wave, dash = ("cosine", "dash") if dimension % 2 else ("sine", "solid")
        place = chosen.index(pair)
        figure.add_scatter(
            x=np.arange(encoding.length, dtype=np.int16),
            y=encoding.table[:, dimension],
            mode="lines+markers",
            line={"color": PAIR_COLOURS[place % len(PAIR_COLOURS)], "width": 2, "dash": dash},
            marker={"symbol": PAIR_SYMBOLS[place % len(PAIR_SYMBOLS)], "size": 7, "maxdisplayed": 16},
            name=f"{dimension} ({wave[:3]})",
            hovertemplate=f"position %{{x}}<br>dimension {dimension}, the {wave} of pair {pair}<br>"
            "value <b>%{y:.4f}</b><extra></extra>",
        )
    figure.update_xaxes(title="position", range=[-0.5, encoding.length - 0.5], **_GRID)
    figure.update_yaxes(title="value", range=[-1.08, 1.08], tickvals=[-1, -0.5, 0, 0.5, 1], **_GRID)
    return _laid_out(figure, height=400)


def matrix_figure(encoding: Encoding) -> go.Figure:
    """The whole table: rows are positions from top to bottom, columns dimensions, colours from -1 to 1."""
    hover = "position %{y}<br>dimension %{x}<br>value <b>%{z:.4f}</b>"
    figure = go.Figure(diverging_heatmap(encoding.table, 1.0, "value", hover))
    figure.update_xaxes(**integer_axis(encoding.d_model, "dimension"), side="top")
    figure.update_yaxes(**rows_axis(encoding.length, "position"))
    return _laid_out(figure, height=480)


def products_figure(products: np.ndarray) -> go.Figure:
    """PE(p) . PE(q) [length, length]: rows are p from top to bottom, columns q, colours around 0."""
    hover = "p = %{y}, q = %{x}<br>PE(p) · PE(q) = <b>%{z:.3f}</b>"
    figure = go.Figure(diverging_heatmap(products, float(np.abs(products).max()), "dot product", hover))
    figure.update_xaxes(**integer_axis(len(products), "position q"), side="top", constrain="domain")
    figure.update_yaxes(
        **rows_axis(len(products), "position p"), scaleanchor="x", constrain="domain",
        constraintoward="top",
    )  # fmt: skip
    return _laid_out(figure, height=440)


def distance_figure(settings: DistanceLaw, model: DistanceLaw) -> go.Figure:
    """The dot product over the distance, as a share of its value at distance 0, so that two sizes compare."""
    figure = go.Figure()
    for law, name, colour, dash in (
        (settings, SETTINGS_NAME, SETTINGS_COLOUR, "solid"),
        (model, MODEL_NAME, MODEL_COLOUR, "dash"),
    ):
        figure.add_scatter(
            x=np.arange(len(law.means), dtype=np.int16),
            y=(law.means / law.means[0]).astype(np.float32),
            mode="lines",
            line={"color": colour, "width": 2, "dash": dash},
            name=name,
            hovertemplate=f"{name}<br>%{{x}} positions apart<br>cosine <b>%{{y:.3f}}</b><extra></extra>",
        )
    longest = max(len(settings.means), len(model.means))
    figure.update_xaxes(title="distance q − p, positions", range=[-0.5, longest - 0.5], **_GRID)
    figure.update_yaxes(title="PE(p) · PE(q) / (d_model / 2)", **{**_GRID, "zeroline": True}, zerolinecolor="#808080")
    return _laid_out(figure, height=320)


def wavelengths_figure(settings: Encoding, model: Encoding) -> go.Figure:
    """The wavelength of every pair on a log axis; a line for the steps of each length, pairs above theirs hollow."""
    figure = go.Figure()
    most = max(settings.d_model, model.d_model) // 2
    for encoding, name, colour, symbol, dash in (
        (settings, SETTINGS_NAME, SETTINGS_COLOUR, "circle", "dash"),
        (model, MODEL_NAME, MODEL_COLOUR, "diamond", "dot"),
    ):
        wavelengths = encoding.wavelengths
        hollow = [f"{symbol}-open" if wavelength > encoding.length - 1 else symbol for wavelength in wavelengths]
        figure.add_scatter(
            x=np.arange(len(wavelengths), dtype=np.int16),
            y=wavelengths.astype(np.float32),
            mode="markers",
            marker={"color": colour, "symbol": hollow, "size": 7},
            name=f"{name}: d_model {encoding.d_model}",
            hovertemplate=f"{name}<br>pair %{{x}}<br>wavelength <b>%{{y:,.1f}}</b> positions<extra></extra>",
        )
        figure.add_scatter(
            x=[-0.5, most - 0.5],
            y=[encoding.length - 1] * 2,
            mode="lines",
            line={"color": colour, "width": 1.5, "dash": dash},
            name=f"first to last position: {encoding.length - 1}",
            hovertemplate=f"{name}: {encoding.length - 1} steps from the first position to the last<extra></extra>",
        )
    figure.update_xaxes(title="pair i (dimensions 2i and 2i + 1)", range=[-0.5, most - 0.5], **_GRID)
    figure.update_yaxes(title="wavelength, positions", type="log", dtick=1, tickformat=",d", **_GRID)
    return _laid_out(figure, height=440)


def _laid_out(figure: go.Figure, height: int) -> go.Figure:
    """One look for all: the legend above the drawing, which a phone's width needs whole."""
    return figure.update_layout(
        height=height,
        margin=_MARGIN,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        hoverlabel={"align": "left"},
    )


_ARC_RADIUS = 0.55


def rotation_figure(encoding: Encoding, pair: int, position: int, offset: int) -> go.Figure:
    """The unit circle: sine to the right, cosine upwards, PE(position) and PE(position + offset) as arrows.

    Position 0 points straight up and later ones follow clockwise. Full turns of the angle between both are left out of
    its arc. Raises IndexError for a pair or a position that the encoding has not.
    """
    points = encoding.pairs[:, pair]  # length (sine, cosine)
    angle = encoding.frequencies[pair]
    start, swept = position * angle, (offset * angle) % (2 * np.pi)
    circle, arc = np.linspace(0, 2 * np.pi, 91), np.linspace(start, start + swept, 61)
    figure = go.Figure()
    figure.add_scatter(
        x=np.sin(circle), y=np.cos(circle), mode="lines", line={"color": "rgba(128, 128, 128, 0.5)", "width": 1},
        hoverinfo="skip", showlegend=False,
    )  # fmt: skip
    figure.add_scatter(
        x=points[:, 0].astype(np.float32), y=points[:, 1].astype(np.float32), mode="markers",
        marker={"color": "rgba(128, 128, 128, 0.55)", "size": 5}, customdata=np.arange(len(points), dtype=np.int16),
        name="other positions", hovertemplate="position %{customdata}<br>sine %{x:.4f}, cosine %{y:.4f}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=_ARC_RADIUS * np.sin(arc), y=_ARC_RADIUS * np.cos(arc), mode="lines+markers",
        line={"color": "#8a8a8a", "width": 3, "dash": "dot"},
        marker={"symbol": "arrow", "angleref": "previous", "size": [0] * 60 + [12], "color": "#8a8a8a", "opacity": 1},
        name=f"{offset} steps: {np.degrees(offset * angle):,.1f}°", hoverinfo="skip",
    )  # fmt: skip
    for place, colour, dash in ((position, SETTINGS_COLOUR, "solid"), (position + offset, MODEL_COLOUR, "dash")):
        figure.add_trace(_arrow(points[place], place, colour, dash))
    figure.update_xaxes(**_axis(f"dimension {2 * pair}: sine"), constrain="domain")
    figure.update_yaxes(**_axis(f"dimension {2 * pair + 1}: cosine"), scaleanchor="x", constrain="domain")
    return figure.update_layout(
        height=430,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )


def _arrow(point: np.ndarray, place: int, colour: str, dash: str) -> go.Scatter:
    return go.Scatter(
        x=[0, point[0]],
        y=[0, point[1]],
        mode="lines+markers",
        line={"color": colour, "width": 3, "dash": dash},
        marker={"symbol": "arrow", "angleref": "previous", "size": [0, 16], "color": colour, "opacity": 1},
        name=f"PE({place})",
        hovertemplate=f"PE({place})<br>sine %{{x:.4f}}, cosine %{{y:.4f}}<extra></extra>",
    )


def _axis(name: str) -> dict:
    return {
        "title": {"text": name},
        "range": [-1.15, 1.15],
        "tickvals": [-1, 0, 1],
        "showgrid": False,
        "zeroline": True,
        "zerolinecolor": "rgba(128, 128, 128, 0.35)",
        "automargin": True,
    }
