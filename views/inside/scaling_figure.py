"""Figures on the division by the root of d_k: what it does to random vectors, and to one head of the model."""

import numpy as np
import plotly.graph_objects as go

from plots.palette import token_label
from transformer.experiments.dot_product_scaling import RandomProducts

WITHOUT, WITH = "#c2570a", "#1f77e0"  # orange and blue, and a dash beside the colour


def spread_figure(spread: RandomProducts, d_k: int) -> go.Figure:
    """Standard deviation of q k and of q k / sqrt(d_k) over d_k, both axes logarithmic; the model's own d_k marked."""
    figure = go.Figure()
    for name, values, colour, dash in (
        ("q·k", spread.products, WITHOUT, "dash"),
        ("q·k / √d_k", spread.scores, WITH, "solid"),
    ):
        figure.add_scatter(
            x=spread.sizes, y=values, name=name, mode="lines+markers", line={"color": colour, "dash": dash},
            hovertemplate="d_k %{x}<br>standard deviation of " + name + " %{y:.3f}<extra></extra>",
        )  # fmt: skip
    figure.add_scatter(
        x=spread.sizes, y=np.sqrt(spread.sizes), name="√d_k", mode="lines", line={"color": "gray", "dash": "dot"},
        hovertemplate="√%{x} = %{y:.3f}<extra></extra>",
    )  # fmt: skip
    return _finish(figure, spread, d_k, "standard deviation", logarithmic=True)


def largest_figure(spread: RandomProducts, d_k: int) -> go.Figure:
    """The mean largest weight of a row over d_k, without the division and with it."""
    figure = go.Figure()
    for name, values, colour, dash in (
        ("without the division", spread.largest, WITHOUT, "dash"),
        ("with it", spread.largest_scaled, WITH, "solid"),
    ):
        figure.add_scatter(
            x=spread.sizes, y=values, name=name, mode="lines+markers", line={"color": colour, "dash": dash},
            hovertemplate="d_k %{x}<br>largest weight " + name + " %{y:.3f}<extra></extra>",
        )  # fmt: skip
    return _finish(figure, spread, d_k, f"largest of {spread.keys} weights", logarithmic=False)


def rows_figure(without: np.ndarray, divided: np.ndarray, queries: tuple[str, ...]) -> go.Figure:
    """The largest weight of every query of one head, without the division and with it: [queries] each."""
    places = list(range(len(queries)))
    figure = go.Figure()
    for name, values, colour, symbol in (
        ("without the division", without, WITHOUT, "diamond"),
        ("with it: the model's own", divided, WITH, "circle"),
    ):
        figure.add_scatter(
            x=values, y=places, name=name, mode="markers", marker={"color": colour, "symbol": symbol, "size": 10},
            customdata=[token_label(query) for query in queries],
            hovertemplate="%{customdata}: largest weight %{x:.4f} " + name + "<extra></extra>",
        )  # fmt: skip
    for place, (left, right) in enumerate(zip(divided, without, strict=True)):
        figure.add_shape(
            type="line", x0=left, x1=right, y0=place, y1=place, layer="below",
            line={"color": "rgba(128, 128, 128, 0.6)", "width": 1},
        )  # fmt: skip
    figure.update_xaxes(title="largest weight of the row", range=[-0.02, 1.03])
    figure.update_yaxes(
        tickvals=places, ticktext=[token_label(query) for query in queries], autorange="reversed", title=None
    )
    figure.update_layout(
        height=110 + 24 * len(queries), margin={"l": 10, "r": 10, "t": 30, "b": 40},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    )  # fmt: skip
    return figure


def _finish(figure: go.Figure, spread: RandomProducts, d_k: int, title: str, logarithmic: bool) -> go.Figure:
    figure.add_vline(x=d_k, line={"color": "gray", "width": 1, "dash": "dot"})
    figure.add_annotation(
        x=np.log10(d_k), y=1, yref="paper", text=f"this model: {d_k}", showarrow=False, xanchor="right", xshift=-4
    )
    figure.update_xaxes(type="log", title="d_k", tickvals=spread.sizes)
    figure.update_yaxes(
        title=title, type="log" if logarithmic else "linear", **({} if logarithmic else {"range": [0, 1.03]})
    )
    figure.update_layout(
        height=340,
        margin={"l": 10, "r": 10, "t": 30, "b": 40},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    )
    return figure
