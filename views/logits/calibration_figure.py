"""Calibration: the probability of the top-1 prediction, and how often it is right."""

import numpy as np
import plotly.graph_objects as go

from plots.layout import LEGEND_ABOVE, laid_out
from plots.palette import BLUE, ORANGE
from transformer.evaluation import Confidence

_BINS = 25
_DOTTED = {"color": "gray", "dash": "dot"}
_AXIS = "probability of the top-1 prediction"


def histogram_figure(measured: Confidence, best_reachable: float | None) -> go.Figure:
    """Tokens by the probability of the top-1 prediction, right and wrong ones; a line where the loss is least."""
    edges = np.linspace(0, 1, _BINS + 1)
    figure = go.Figure(layout={"barmode": "stack"})
    for name, chosen, colour, pattern in (
        ("top-1 is the reference token", measured.right, BLUE, ""),
        ("top-1 is another token", ~measured.right, ORANGE, "/"),
    ):
        counts, _ = np.histogram(measured.best[chosen], edges)
        bins = zip(edges[:-1], edges[1:], counts, strict=True)
        hover = [f"{low:.2f} to {high:.2f}: {count:,} tokens, {name}" for low, high, count in bins]
        marker = {"color": colour, "opacity": 0.75, "pattern": {"shape": pattern}}
        shown = {"name": name, "marker": marker, "hovertext": hover, "hoverinfo": "text"}
        figure.add_bar(x=(edges[:-1] + edges[1:]) / 2, y=counts, width=1 / _BINS, **shown)
    if best_reachable is not None:
        note = {"text": f"least loss at {best_reachable:.4f}", "xanchor": "right", "xshift": -4, "yshift": 8}
        figure.add_vline(x=best_reachable, line=_DOTTED)
        figure.add_annotation(note, x=best_reachable, y=1, yref="paper", showarrow=False)
    figure.update_xaxes(title=_AXIS, range=[0, 1])
    figure.update_yaxes(title="tokens")
    return laid_out(figure, 360, top=40, legend=LEGEND_ABOVE | {"y": 1.08})


def calibration_figure(measured: Confidence) -> go.Figure:
    """Accuracy by the probability of the top-1 prediction; on the diagonal the model is calibrated."""
    mean_probabilities, accuracies, counts = zip(*measured.calibration(), strict=True)
    figure = go.Figure()
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", name="perfect calibration", line=_DOTTED, hoverinfo="skip")
    hover = "mean probability %{x:.2f}, right in %{y:.0%} of %{customdata:,} tokens<extra></extra>"
    look = {"mode": "lines+markers", "name": "this model", "line": {"color": BLUE}, "marker": {"size": 9}}
    figure.add_scatter(x=mean_probabilities, y=accuracies, customdata=counts, hovertemplate=hover, **look)
    figure.update_xaxes(title=_AXIS, range=[0, 1.02])
    figure.update_yaxes(title="accuracy", range=[0, 1.05])
    return laid_out(figure, 360, top=40)
