"""Figures on the division by the root of d_k: what it does to random vectors, and to one head of the model."""

import numpy as np
import plotly.graph_objects as go

from plots.layout import laid_out, token_rows
from plots.palette import BLUE, MIDDLE_GREY, ORANGE
from plots.text import token_label
from transformer.experiments.dot_product_scaling import RandomProducts

_WITHOUT, _WITH = {"color": ORANGE, "dash": "dash"}, {"color": BLUE, "dash": "solid"}


def spread_figure(spread: RandomProducts, d_k: int) -> go.Figure:
    """Standard deviation of q k and of q k / sqrt(d_k) over d_k, both axes logarithmic; the model's own d_k marked."""
    figure = go.Figure()
    _add_line(figure, spread, "q·k", spread.products, _WITHOUT, "standard deviation of q·k")
    _add_line(figure, spread, "q·k / √d_k", spread.scores, _WITH, "standard deviation of q·k / √d_k")
    root = {"name": "√d_k", "mode": "lines", "line": {"color": "gray", "dash": "dot"}}
    figure.add_scatter(x=spread.sizes, y=np.sqrt(spread.sizes), hovertemplate="√%{x} = %{y:.3f}<extra></extra>", **root)
    figure.update_yaxes(title="standard deviation", type="log")
    return _over_sizes(figure, spread, d_k)


def largest_figure(spread: RandomProducts, d_k: int) -> go.Figure:
    """The mean largest weight of a row over d_k, without the division and with it."""
    figure = go.Figure()
    without, divided = "without the division", "with the division"
    _add_line(figure, spread, without, spread.largest, _WITHOUT, f"max weight {without}")
    _add_line(figure, spread, divided, spread.largest_scaled, _WITH, f"max weight {divided}")
    figure.update_yaxes(title=f"largest of {spread.keys} weights", range=[0, 1.03])
    return _over_sizes(figure, spread, d_k)


def rows_figure(without: np.ndarray, divided: np.ndarray, queries: tuple[str, ...]) -> go.Figure:
    """The largest weight of every query of one head, without the division and with it: [queries] each."""
    figure = go.Figure()
    for name, values, colour, symbol in (
        ("without the division", without, ORANGE, "diamond"),
        ("with the division: the model's own", divided, BLUE, "circle"),
    ):
        marker, places = {"color": colour, "symbol": symbol, "size": 10}, list(range(len(queries)))
        words = zip(queries, values, strict=True)
        hover = [f"{token_label(query)}: max weight {value:.4f} {name}" for query, value in words]
        dots = {"name": name, "mode": "markers", "marker": marker, "hovertext": hover, "hoverinfo": "text"}
        figure.add_scatter(x=values, y=places, **dots)
    for place, (left, right) in enumerate(zip(divided, without, strict=True)):
        ends = {"x0": left, "x1": right, "y0": place, "y1": place}
        figure.add_shape(ends, type="line", layer="below", line={"color": MIDDLE_GREY, "width": 1})
    figure.update_xaxes(title="max weight of the row", range=[-0.02, 1.03])
    figure.update_yaxes(**token_rows(queries, grid=True))
    return laid_out(figure, 110 + 24 * len(queries))


def _add_line(
    figure: go.Figure, spread: RandomProducts, name: str, values: np.ndarray, line: dict, measure: str
) -> None:
    hover = f"d_k %{{x}}<br>{measure} %{{y:.3f}}<extra></extra>"
    figure.add_scatter(x=spread.sizes, y=values, name=name, mode="lines+markers", line=line, hovertemplate=hover)


def _over_sizes(figure: go.Figure, spread: RandomProducts, d_k: int) -> go.Figure:
    """The axis of d_k, with a line at the model's own."""
    note = {"text": f"this model: {d_k}", "xanchor": "right", "xshift": -4}
    figure.add_vline(x=d_k, line={"color": "gray", "width": 1, "dash": "dot"})
    figure.add_annotation(note, x=np.log10(d_k), y=1, yref="paper", showarrow=False)
    figure.update_xaxes(type="log", title="d_k", tickvals=spread.sizes)
    return laid_out(figure, 340)
