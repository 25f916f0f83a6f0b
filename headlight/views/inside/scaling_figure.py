"""Figures on the division by the root of d_k: what it does to random vectors, and to one head of the model."""

import numpy as np
import plotly.graph_objects as go

from headlight.plots.layout import figure_of, line_at, logarithmic_axis, note_at, scatter, token_rows
from headlight.plots.palette import BLUE, MIDDLE_GREY, ORANGE
from headlight.plots.text import token_label
from transformer.experiments.dot_product_scaling import RandomProducts

_WITHOUT, _WITH = {"color": ORANGE, "dash": "dash"}, {"color": BLUE, "dash": "solid"}


def spread_figure(spread: RandomProducts, d_k: int) -> go.Figure:
    """Standard deviation of q k and of q k / sqrt(d_k) over d_k, both axes logarithmic; the model's own d_k marked."""
    look = {"name": "√d_k", "line": {"color": "gray", "dash": "dot"}}
    curves = [
        _line(spread, "q·k", spread.products, _WITHOUT, "standard deviation of q·k"),
        _line(spread, "q·k / √d_k", spread.scores, _WITH, "standard deviation of q·k / √d_k"),
        scatter(spread.sizes, np.sqrt(spread.sizes), "lines", hovertemplate="√%{x} = %{y:.3f}<extra></extra>", **look),
    ]
    return _over_sizes(curves, spread, d_k, logarithmic_axis("standard deviation"))


def largest_figure(spread: RandomProducts, d_k: int) -> go.Figure:
    """The mean largest weight of a row over d_k, without the division and with it."""
    without, divided = "without the division", "with the division"
    curves = [
        _line(spread, without, spread.largest, _WITHOUT, f"max weight {without}"),
        _line(spread, divided, spread.largest_scaled, _WITH, f"max weight {divided}"),
    ]
    return _over_sizes(curves, spread, d_k, {"title": f"largest of {spread.keys} weights", "range": [0, 1.03]})


def rows_figure(without: np.ndarray, divided: np.ndarray, queries: tuple[str, ...]) -> go.Figure:
    """The largest weight of every query of one head, without the division and with it: [queries] each."""
    traces, places = [], list(range(len(queries)))
    for name, values, colour, symbol in (
        ("without the division", without, ORANGE, "diamond"),
        ("with the division: the model's own", divided, BLUE, "circle"),
    ):
        words = zip(queries, values, strict=True)
        hover = [f"{token_label(query)}: max weight {value:.4f} {name}" for query, value in words]
        look = {"color": colour, "symbol": symbol, "size": 10}
        traces.append(scatter(values, places, "markers", name=name, marker=look, hovertext=hover, hoverinfo="text"))
    between = {"type": "line", "layer": "below", "line": {"color": MIDDLE_GREY, "width": 1}}
    lines = [
        {"x0": left, "x1": right, "y0": place, "y1": place, **between}
        for place, (left, right) in enumerate(zip(divided, without, strict=True))
    ]
    x = {"title": "max weight of the row", "range": [-0.02, 1.03]}
    return figure_of(traces, 110 + 24 * len(queries), x=x, y=token_rows(queries, grid=True), shapes=lines)


def _line(spread: RandomProducts, name: str, values: np.ndarray, line: dict, measure: str) -> dict:
    hover = f"d_k %{{x}}<br>{measure} %{{y:.3f}}<extra></extra>"
    return scatter(spread.sizes, values, "lines+markers", name=name, line=line, hovertemplate=hover)


def _over_sizes(curves: list[dict], spread: RandomProducts, d_k: int, y: dict) -> go.Figure:
    """Curves over the axis of d_k, with a line at the model's own."""
    x = {"type": "log", "title": "d_k", "tickvals": spread.sizes}
    line = line_at(d_k, {"color": "gray", "width": 1, "dash": "dot"})
    note = note_at(np.log10(d_k), f"this model: {d_k}")
    return figure_of(curves, 340, x=x, y=y, shapes=[line], annotations=[note])
