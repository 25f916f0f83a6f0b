"""A piece's way into the model: its row, times the root of d_model, plus its position; and its neighbours."""

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go

from plots.palette import DIVERGING_SCALE, signed, token_label


def sum_figure(row: np.ndarray, scaled: np.ndarray, position: np.ndarray, total: np.ndarray) -> go.Figure:
    """Four vectors below one another, a column a dimension, one colour scale around 0: [d_model] each."""
    names = ("row of the matrix", "× √d_model", "+ position", "= what comes in")
    values = np.stack([row, scaled, position, total]).astype(np.float32)
    reach = float(np.abs(values).max())
    figure = go.Figure(
        go.Heatmap(
            z=values, x=np.arange(1, values.shape[1] + 1), y=list(range(4)), zmin=-reach, zmax=reach,
            colorscale=DIVERGING_SCALE, customdata=[[name] * values.shape[1] for name in names],
            hovertemplate="%{customdata}, dimension %{x}: %{z:.4f}<extra></extra>", ygap=3,
            colorbar={"thickness": 12},
        )
    )  # fmt: skip
    figure.update_yaxes(tickvals=list(range(4)), ticktext=names, autorange="reversed")
    figure.update_xaxes(title="dimension")
    figure.update_layout(height=240, margin={"l": 10, "r": 10, "t": 10, "b": 40})
    return figure


def neighbours_figure(found: Sequence[tuple[int, float]], name: Callable[[int], str]) -> go.Figure:
    """The pieces nearest in direction, with their cosines."""
    places = list(range(len(found)))
    figure = go.Figure(
        go.Bar(
            x=[cosine for _, cosine in found], y=places, orientation="h", marker={"color": "#1f77e0", "opacity": 0.75},
            text=[signed(cosine, 3) for _, cosine in found], textposition="auto",
            customdata=[[token_label(name(id)), id] for id, _ in found],
            hovertemplate="%{customdata[0]} (id %{customdata[1]}): cosine %{x:.4f}<extra></extra>",
        )
    )  # fmt: skip
    figure.update_yaxes(tickvals=places, ticktext=[token_label(name(id)) for id, _ in found], autorange="reversed")
    figure.update_xaxes(title="cosine with this piece's row", range=[min(0.0, found[-1][1]), 1])
    figure.update_layout(height=80 + 26 * len(found), margin={"l": 10, "r": 10, "t": 10, "b": 40})
    return figure
