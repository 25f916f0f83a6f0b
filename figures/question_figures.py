"""The small figures that only the page of questions has."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.closed_rows import ClosedRow
from transformer.passes import Passes

from .style import token_label

BLUE, ORANGE = "#1f77e0", "#c2570a"
_MARGIN = {"l": 10, "r": 10, "t": 30, "b": 40}
_LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}


def share_of_parameters_figure(counts: Mapping[int, int], own: int) -> go.Figure:
    """Parameters by d_model, the loaded model's own width in orange."""
    widths = list(counts)
    figure = go.Figure(
        go.Bar(
            x=[str(width) for width in widths], y=list(counts.values()),
            text=[f"{count / 1e6:.1f} M" for count in counts.values()],
            marker={"color": [ORANGE if width == own else BLUE for width in widths], "opacity": 0.75},
            hovertemplate="d_model %{x}: %{y:,} parameters<extra></extra>",
        )
    )  # fmt: skip
    figure.update_xaxes(title="d_model", type="category")
    figure.update_yaxes(title="parameters")
    return figure.update_layout(height=300, margin=_MARGIN)


def closed_row_figure(row: ClosedRow, keys: Sequence[str]) -> go.Figure:
    """The weights of a row without an open key: −1e9 and the fused kernel; −∞ has no numbers to draw."""
    places = list(range(len(keys)))
    figure = go.Figure()
    for name, values, colour in (("−1e9", row.with_large_number, ORANGE), ("fused kernel", row.fused, BLUE)):
        figure.add_bar(
            x=places, y=values, name=name, marker={"color": colour, "opacity": 0.75},
            text=[f"{value:.3f}" for value in values], hovertemplate=f"{name}: %{{y:.4f}}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(tickvals=places, ticktext=[token_label(key) for key in keys], title="key")
    figure.update_yaxes(title="weight", range=[0, 1])
    return figure.update_layout(height=300, margin=_MARGIN, legend=_LEGEND)


def norms_figure(gammas: np.ndarray, betas: np.ndarray) -> go.Figure:
    """Histograms of all gamma and beta."""
    figure = go.Figure()
    for name, values, colour in (("γ, began at 1", gammas, BLUE), ("β, began at 0", betas, ORANGE)):
        counts, edges = np.histogram(values, 40)
        figure.add_bar(
            x=(edges[:-1] + edges[1:]) / 2, y=counts, width=np.diff(edges), name=name,
            marker={"color": colour, "opacity": 0.7}, hovertemplate="%{x:.3f}: %{y:,}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title="value")
    figure.update_yaxes(title="how many")
    return figure.update_layout(height=300, margin=_MARGIN, legend=_LEGEND, barmode="overlay")


def shift_figure(fed: Sequence[str], following: Sequence[str]) -> go.Figure:
    """Two rows of tokens, the lower one a place ahead, with the way of each token from one to the other."""
    figure = go.Figure()
    places = list(range(len(fed)))
    for row, name, tokens in ((1, "fed", fed), (0, "to predict", following)):
        figure.add_scatter(
            x=places, y=[row] * len(tokens), mode="markers+text", text=[token_label(token) for token in tokens],
            textposition="top center" if row else "bottom center",
            marker={"size": 12, "color": BLUE if row else ORANGE},
            hovertemplate=f"row %{{x}}, {name}: %{{text}}<extra></extra>", showlegend=False,
        )  # fmt: skip
    for place in places[:-1]:  # what row `place` is to predict is fed to the next one
        figure.add_annotation(
            x=place + 1, y=0.93, ax=place, ay=0.07, xref="x", yref="y", axref="x", ayref="y", showarrow=True,
            arrowhead=2, arrowcolor="rgba(128, 128, 128, 0.8)",
        )  # fmt: skip
    figure.update_xaxes(tickvals=places, ticktext=[str(place + 1) for place in places], title="row of the decoder")
    figure.update_yaxes(tickvals=[1, 0], ticktext=["fed", "to predict"], range=[-0.5, 1.5])
    return figure.update_layout(height=260, margin=_MARGIN)


def passes_figure(measured: Passes) -> go.Figure:
    """Milliseconds of every round, both ways."""
    figure = go.Figure()
    for name, seconds, colour in (("one pass", measured.parallel, BLUE), ("step by step", measured.stepwise, ORANGE)):
        figure.add_scatter(
            x=[1000 * each for each in seconds], y=[name] * len(seconds), mode="markers", showlegend=False,
            marker={"color": colour, "size": 11, "opacity": 0.75},
            hovertemplate=f"{name}: %{{x:.1f}} ms<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title="milliseconds", rangemode="tozero")
    return figure.update_layout(height=220, margin=_MARGIN)
