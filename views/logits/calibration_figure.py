"""How sure the model is of its best token, and how often it is right."""

import numpy as np
import plotly.graph_objects as go

from transformer.evaluation import Confidence

BLUE, ORANGE = "#1f77e0", "#c2570a"
_BINS = 25


def histogram_figure(measured: Confidence, best_reachable: float | None) -> go.Figure:
    """Tokens by the probability of the favourite, right and wrong ones; a line where label smoothing wants it to be."""
    edges = np.linspace(0, 1, _BINS + 1)
    figure = go.Figure()
    for name, chosen, colour, pattern in (
        ("the favourite is the reference's", measured.right, BLUE, ""),
        ("it is another", ~measured.right, ORANGE, "/"),
    ):
        counts, _ = np.histogram(measured.best[chosen], edges)
        figure.add_bar(
            x=(edges[:-1] + edges[1:]) / 2, y=counts, name=name, width=1 / _BINS,
            marker={"color": colour, "opacity": 0.75, "pattern": {"shape": pattern}},
            customdata=np.stack([edges[:-1], edges[1:]], axis=1),
            hovertemplate="%{customdata[0]:.2f} to %{customdata[1]:.2f}: %{y:,} tokens, " + name + "<extra></extra>",
        )  # fmt: skip
    if best_reachable is not None:
        figure.add_vline(x=best_reachable, line={"color": "gray", "dash": "dot"})
        figure.add_annotation(
            x=best_reachable, y=1, yref="paper", showarrow=False, xanchor="right", xshift=-4, yshift=8,
            text=f"least loss at {best_reachable:.4f}",
        )  # fmt: skip
    figure.update_xaxes(title="probability of the favourite", range=[0, 1])
    figure.update_yaxes(title="tokens")
    return _finish(figure.update_layout(barmode="stack"))


def calibration_figure(measured: Confidence) -> go.Figure:
    """Share of right tokens by how sure the model was: on the diagonal, it is as often right as it says."""
    points = measured.calibration()
    sure, right, counts = zip(*points, strict=True)
    figure = go.Figure()
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", name="as often right as it says", line={"color": "gray", "dash": "dot"},
        hoverinfo="skip",
    )  # fmt: skip
    figure.add_scatter(
        x=sure, y=right, mode="lines+markers", name="this model", line={"color": BLUE},
        marker={"color": BLUE, "size": 9},
        customdata=counts,
        hovertemplate="gave %{x:.2f} on average, was right in %{y:.0%} of %{customdata:,} tokens<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title="probability of the favourite", range=[0, 1.02])
    figure.update_yaxes(title="share that was right", range=[0, 1.05])
    return _finish(figure)


def _finish(figure: go.Figure) -> go.Figure:
    figure.update_layout(
        height=360,
        margin={"l": 10, "r": 10, "t": 40, "b": 40},
        legend={"orientation": "h", "y": 1.08, "yanchor": "bottom"},
    )
    return figure
