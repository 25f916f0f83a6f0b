"""Figures on the architecture: a token's way into a stack and through it, hidden units, gradients by layer."""

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from plots.heatmap import Cells
from plots.layout import bar_beside, laid_out, row_bars, token_axis, token_rows
from plots.palette import BLUE, GREEN, ORANGE, WEIGHT_SCALE, Scale, diverging
from plots.text import signed, token_label
from transformer.experiments.initial_gradients import GradientNorms
from transformer.interpret.residual import Trajectory

from .text import sublayer_names

_UNITS = 24  # hidden units that are drawn
_NORM_LOOKS = {"post": (ORANGE, "dash", "diamond"), "pre": (BLUE, "solid", "circle")}


def trajectory_figure(trajectory: Trajectory) -> go.Figure:
    """Two panels over the same sub-layers: norms of the vector and of what is added; cosines with two earlier ones."""
    names, places = sublayer_names(trajectory), list(range(len(trajectory.points)))
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08, row_heights=[0.55, 0.45])
    added = {"name": "norm of what is added", "marker": {"color": ORANGE, "opacity": 0.6}, "customdata": names}
    hover = "%{customdata}: adds a vector of norm %{y:.2f}<extra></extra>"
    figure.add_bar(x=places, y=trajectory.changes, hovertemplate=hover, row=1, col=1, **added)
    for values, name, colour, dash, row in (
        (trajectory.norms, "norm of the vector", BLUE, "solid", 1),
        (trajectory.similarities, "cosine with its embedding", GREEN, "solid", 2),
        (trajectory.turns, "cosine with the vector before", BLUE, "dot", 2),
    ):
        hover = f"%{{customdata}}: {name} %{{y:.{row + 1}f}}<extra></extra>"
        line = go.Scatter(x=places, y=values, name=name, mode="lines+markers", customdata=names, hovertemplate=hover)
        figure.add_trace(line.update(line={"color": colour, "dash": dash}), row=row, col=1)
    lowest = min(-0.1, float(np.min(trajectory.similarities)) - 0.05)
    figure.update_xaxes(tickvals=places, ticktext=names, tickangle=-40, row=2, col=1)
    figure.update_yaxes(title="norm", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title="cosine", range=[lowest, 1.05], row=2, col=1)
    return laid_out(figure, 560, bottom=120)


def sum_figure(row: np.ndarray, scaled: np.ndarray, position: np.ndarray, total: np.ndarray) -> go.Figure:
    """Four vectors below one another, a column a dimension, one colour scale around 0: [d_model] each."""
    names = ("row of the matrix", "× √d_model", "+ position", "= input of the stack")
    values = np.stack([row, scaled, position, total])
    scale = diverging(float(np.abs(values).max()))
    hover = [
        [f"{name}, dimension {k}: {value:.4f}" for k, value in enumerate(line, 1)]
        for name, line in zip(names, values, strict=True)
    ]
    figure = go.Figure(Cells(values, hover, scale, left=1).trace(bar_beside("", scale)).update(xgap=0, ygap=3))
    figure.update_yaxes(**token_rows(names))
    figure.update_xaxes(title="dimension")
    return laid_out(figure, 240, top=10)


def neighbours_figure(found: Sequence[tuple[int, float]], name: Callable[[int], str]) -> go.Figure:
    """The tokens of the largest cosines, with these."""
    tokens, cosines = [name(id) for id, _ in found], [cosine for _, cosine in found]
    hover = [f"{token_label(name(id))} (id {id}): cosine {cosine:.4f}" for id, cosine in found]
    figure = go.Figure(row_bars(cosines, hover, BLUE, texts=[signed(cosine, 3) for cosine in cosines]))
    figure.update_yaxes(**token_rows(tokens, grid=True))
    figure.update_xaxes(title="cosine with this token's row", range=[min(0.0, found[-1][1]), 1])
    return laid_out(figure, 80 + 26 * len(found), top=10)


def units_figure(units: np.ndarray) -> go.Figure:
    """One token's strongest units: [d_ff], after ReLU."""
    order = np.argsort(-units, kind="stable")[: min(_UNITS, int((units > 0).sum()))]
    places, marker = list(range(len(order))), {"color": BLUE, "opacity": 0.75}
    hover = [f"unit {unit + 1}: {units[unit]:.4f}" for unit in order]
    figure = go.Figure(go.Bar(x=places, y=units[order], marker=marker, hovertext=hover, hoverinfo="text"))
    figure.update_yaxes(title="after ReLU")
    return _over_units(figure, order, 300)


def sentence_figure(units: np.ndarray, tokens: Sequence[str]) -> go.Figure:
    """The units with the largest sum over the sentence, tokens by units: [tokens, d_ff]; 0 stays blank."""
    order = np.argsort(-units.sum(axis=0), kind="stable")[:_UNITS]
    values = units[:, order]
    hover = [
        [f"{token_label(token)}, unit {unit + 1}: {value:.4f}" for unit, value in zip(order, line, strict=True)]
        for token, line in zip(tokens, values, strict=True)
    ]
    scale = Scale(WEIGHT_SCALE, 0.0, float(values.max()) or 1.0, ticks=None)
    cells = Cells(np.where(values > 0, values, np.nan), hover, scale)
    figure = go.Figure(cells.trace(bar_beside("", scale), gap=2))
    figure.update_yaxes(**token_rows(tokens))
    return _over_units(figure, order, 110 + 26 * len(tokens))


def gradients_figure(measured: Sequence[GradientNorms], stack: str) -> go.Figure:
    """One line a norm, over the layers of the "encoder" or the "decoder", the gradient's norm on a logarithmic axis."""
    figure = go.Figure()
    for each in measured:
        colour, dash, symbol = _NORM_LOOKS[each.norm]
        values = getattr(each, stack)
        look = {"line": {"color": colour, "dash": dash}, "marker": {"symbol": symbol, "size": 8}}
        hover = f"{each.norm}-norm, layer %{{x}}: %{{y:.4f}}<extra></extra>"
        layers, name = list(range(1, len(values) + 1)), f"{each.norm}-norm"
        figure.add_scatter(x=layers, y=values, name=name, mode="lines+markers", hovertemplate=hover, **look)
    figure.update_xaxes(title="layer, the last one next to the output", dtick=1)
    figure.update_yaxes(title="norm of the gradient of W₂", type="log")
    return laid_out(figure, 340)


def _over_units(figure: go.Figure, order: np.ndarray, height: int) -> go.Figure:
    figure.update_xaxes(**token_axis([str(unit + 1) for unit in order]), title="hidden unit")
    return laid_out(figure, height, top=10, bottom=60)
