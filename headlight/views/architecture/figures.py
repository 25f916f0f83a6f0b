"""Figures on the architecture: a token's way into a stack and through it, hidden units, gradients by layer."""

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go

from headlight.plots.heatmap import Cells
from headlight.plots.layout import (
    bar_beside,
    bars,
    figure_of,
    logarithmic_axis,
    row_bars,
    scatter,
    token_axis,
    token_rows,
)
from headlight.plots.palette import BLUE, GREEN, ORANGE, WEIGHT_SCALE, Scale, diverging
from headlight.plots.text import signed, token_label
from transformer.experiments.initial_gradients import GradientNorms
from transformer.interpret.residual import Trajectory

from .content import sublayer_names

_UNITS = 24  # hidden units that are drawn
_UPPER, _LOWER = {"xaxis": "x", "yaxis": "y"}, {"xaxis": "x2", "yaxis": "y2"}  # panels
_NORM_LOOKS = {"post": (ORANGE, "dash", "diamond"), "pre": (BLUE, "solid", "circle")}


def trajectory_figure(trajectory: Trajectory) -> go.Figure:
    """Two panels over the same sub-layers: norms of the vector and of what is added; cosines with two earlier ones."""
    names, places = sublayer_names(trajectory), list(range(len(trajectory.points)))
    added = {"name": "norm of what is added", "marker": {"color": ORANGE, "opacity": 0.6}, "customdata": names}
    hover = "%{customdata}: adds a vector of norm %{y:.2f}<extra></extra>"
    traces = [bars(places, trajectory.changes, hovertemplate=hover, **_UPPER, **added)]
    for values, name, colour, dash, digits, panel in (
        (trajectory.norms, "norm of the vector", BLUE, "solid", 2, _UPPER),
        (trajectory.similarities, "cosine with its embedding", GREEN, "solid", 3, _LOWER),
        (trajectory.turns, "cosine with the vector before", BLUE, "dot", 3, _LOWER),
    ):
        hover = f"%{{customdata}}: {name} %{{y:.{digits}f}}<extra></extra>"
        look = {"line": {"color": colour, "dash": dash}, "customdata": names, "hovertemplate": hover}
        traces.append(scatter(places, values, "lines+markers", name=name, **look, **panel))
    lowest = min(-0.1, float(np.min(trajectory.similarities)) - 0.05)
    x = {"anchor": "y", "domain": [0, 1], "matches": "x2", "showticklabels": False}
    y = {"anchor": "x", "domain": [0.494, 1], "title": "norm", "rangemode": "tozero"}
    lower = {
        "xaxis2": {"anchor": "y2", "domain": [0, 1], "tickvals": places, "ticktext": names, "tickangle": -40},
        "yaxis2": {"anchor": "x2", "domain": [0, 0.414], "title": "cosine", "range": [lowest, 1.05]},
    }
    return figure_of(traces, 470, x=x, y=y, bottom=120, **lower)


def sum_figure(
    row: np.ndarray,
    scaled: np.ndarray,
    position: np.ndarray,
    total: np.ndarray,
    factor: str = "√d_model",
    enters: str = "the stack",
) -> go.Figure:
    """Four vectors below one another, a column a dimension, one colour scale around 0: [d_model] each.

    `factor` is what the row is multiplied by, and the sum `enters` the stack or a LayerNorm before it.
    """
    names = ("row of the matrix", f"× {factor}", "+ position", f"= input of {enters}")
    values = np.stack([row, scaled, position, total])
    scale = diverging(float(np.abs(values).max()))
    hover = [
        [f"{name}, dimension {k}: {value:.4f}" for k, value in enumerate(line, 1)]
        for name, line in zip(names, values.tolist(), strict=True)
    ]
    cells = Cells(values, hover, scale, left=1).trace(bar_beside("", scale)) | {"xgap": 0, "ygap": 3}
    return figure_of([cells], 240, x={"title": "dimension"}, y=token_rows(names), top=10)


def neighbours_figure(found: Sequence[tuple[int, float]], name: Callable[[int], str]) -> go.Figure:
    """The tokens of the largest cosines, with these."""
    tokens, cosines = [name(id) for id, _ in found], [cosine for _, cosine in found]
    hover = [f"{token_label(name(id))} (id {id}): cosine {cosine:.4f}" for id, cosine in found]
    traces = [row_bars(cosines, hover, BLUE, texts=[signed(cosine, 3) for cosine in cosines])]
    x = {"title": "cosine with this token's row", "range": [min(0.0, found[-1][1]), 1]}
    return figure_of(traces, 80 + 26 * len(found), x=x, y=token_rows(tokens, grid=True), top=10)


def units_figure(units: np.ndarray, activation: str = "ReLU") -> go.Figure:
    """One token's strongest units: [d_ff], after the activation of this name."""
    order = np.argsort(-units, kind="stable")[: min(_UNITS, int((units > 0).sum()))]
    places, marker = list(range(len(order))), {"color": BLUE, "opacity": 0.75}
    hover = [f"unit {unit + 1}: {units[unit]:.4f}" for unit in order]
    traces = [bars(places, units[order], marker=marker, hovertext=hover, hoverinfo="text")]
    return _over_units(traces, order, 300, {"title": f"after {activation}"})


def sentence_figure(units: np.ndarray, tokens: Sequence[str]) -> go.Figure:
    """The units with the largest sum over the sentence, tokens by units: [tokens, d_ff]; 0 stays blank."""
    order = np.argsort(-units.sum(axis=0), kind="stable")[:_UNITS]
    values = units[:, order]
    hover = [
        [f"{token_label(token)}, unit {unit + 1}: {value:.4f}" for unit, value in zip(order, line, strict=True)]
        for token, line in zip(tokens, values.tolist(), strict=True)
    ]
    scale = Scale(WEIGHT_SCALE, 0.0, float(values.max()) or 1.0, ticks=None)
    cells = Cells(np.where(values > 0, values, np.nan), hover, scale)
    traces = [cells.trace(bar_beside("", scale), gap=2)]
    return _over_units(traces, order, 110 + 26 * len(tokens), token_rows(tokens))


def gradients_figure(measured: Sequence[GradientNorms], stack: str) -> go.Figure:
    """One line a norm, over the layers of the "encoder" or the "decoder", the gradient's norm on a logarithmic axis."""
    curves = []
    for each in measured:
        colour, dash, symbol = _NORM_LOOKS[each.norm]
        values = getattr(each, stack)
        look = {"line": {"color": colour, "dash": dash}, "marker": {"symbol": symbol, "size": 8}}
        hover = f"{each.norm}-norm, layer %{{x}}: %{{y:.4f}}<extra></extra>"
        layers, name = list(range(1, len(values) + 1)), f"{each.norm}-norm"
        curves.append(scatter(layers, values, "lines+markers", name=name, hovertemplate=hover, **look))
    x = {"title": "layer, the last one next to the output", "dtick": 1}
    return figure_of(curves, 340, x=x, y=logarithmic_axis("norm of the gradient of W₂"))


def _over_units(traces: list[dict], order: np.ndarray, height: int, y: dict) -> go.Figure:
    x = {**token_axis([str(unit + 1) for unit in order]), "title": "hidden unit"}
    return figure_of(traces, height, x=x, y=y, top=10, bottom=60)
