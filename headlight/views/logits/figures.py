"""Figures on logits: one step's, the rank of the final token by layer, and calibration."""

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go

from headlight.plots.layout import (
    LEGEND_ABOVE,
    SMALLEST_LABEL,
    bars,
    figure_of,
    line_at,
    logarithmic_axis,
    note_at,
    row_bars,
    scatter,
    token_rows,
)
from headlight.plots.palette import BLUE, ORANGE
from headlight.plots.text import signed, token_label
from transformer.decoding.truncation import Truncation
from transformer.evaluation import Confidence
from transformer.interpret.activations import Predictions

from .content import layer_names

SHOWN = 20  # tokens of the vocabulary that are drawn, best first
_BINS = 25
_DOTTED = {"color": "gray", "dash": "dot"}
_CHOSEN = {"color": BLUE, "width": 3}
_OTHERS = {"color": "rgba(128, 128, 128, 0.45)", "width": 1}
_AXIS = "probability of the top-1 prediction"


def logits_figure(cut: Truncation, name: Callable[[int], str]) -> go.Figure:
    """The largest logits, each with its token; `name` turns an id into the token's text."""
    ids = cut.order[:SHOWN]
    hover = [
        f"{token_label(name(int(id)))} (id {id})<br>logit {cut.logits[id]:.4f}<br>probability {cut.own[id]:.4f}"
        for id in ids
    ]
    shown = row_bars(cut.logits[ids], hover, BLUE, texts=[signed(value, 2) for value in cut.logits[ids]])
    traces = [shown | {"constraintext": "none", "insidetextfont": {"size": SMALLEST_LABEL}}]
    return _named(traces, ids, name, {"title": "logit"})


def truncation_figure(cut: Truncation, name: Callable[[int], str]) -> go.Figure:
    """The probabilities of the same tokens: softmax of the logits as markers, the sampling distribution as bars."""
    ids = cut.order[:SHOWN]
    hover = [
        f"{token_label(name(int(id)))}, {'kept' if cut.kept[id] else 'truncated'}<br>softmax of the logits "
        f"{cut.own[id]:.4f}<br>sampling distribution {cut.final[id]:.4f}"
        for id in ids
    ]
    symbols = ["diamond-open" if cut.kept[id] else "x-thin-open" for id in ids]
    marker = {"symbol": symbols, "size": 10, "color": ORANGE, "line": {"width": 2}}
    look = {"name": "softmax of the logits", "marker": marker, "hovertext": hover, "hoverinfo": "text"}
    diamonds = scatter(cut.own[ids], list(range(len(ids))), "markers", **look)
    traces = [row_bars(cut.final[ids], hover, BLUE, "sampling distribution"), diamonds]
    most = max(0.05, 1.08 * float(max(cut.final.max(), cut.own.max())))
    return _named(traces, ids, name, {"title": "probability", "range": [0, most]})


def ranks_figure(lens: Predictions, following: Sequence[str], step: int) -> go.Figure:
    """Rank of every step's final token by layer, on a logarithmic axis; the chosen step stands out."""
    rows, steps = lens.ranks.shape
    places, names = list(range(rows)), layer_names(rows)
    curves = []
    for each in [*(other for other in range(steps) if other != step), step]:
        token = token_label(following[each])
        ranks, line = lens.ranks[:, each], _CHOSEN if each == step else _OTHERS
        hover = [f"{token}, {name}: rank {rank:,}" for name, rank in zip(names, ranks, strict=True)]
        curves.append(scatter(places, ranks, "lines+markers", line=line, hovertext=hover, hoverinfo="text"))
    x = {"tickvals": places, "ticktext": names}
    y = {**logarithmic_axis("rank, 1 is the top-1 prediction"), "autorange": "reversed"}
    return figure_of(curves, 340, x=x, y=y, top=20, showlegend=False)


def histogram_figure(measured: Confidence, best_reachable: float | None) -> go.Figure:
    """Tokens by the probability of the top-1 prediction, right and wrong ones; a line where the loss is least."""
    edges = np.linspace(0, 1, _BINS + 1)
    traces, marked = [], {}
    for name, chosen, colour, pattern in (
        ("top-1 is the reference token", measured.right, BLUE, ""),
        ("top-1 is another token", ~measured.right, ORANGE, "/"),
    ):
        counts, _ = np.histogram(measured.best[chosen], edges)
        bins = zip(edges[:-1], edges[1:], counts, strict=True)
        hover = [f"{low:.2f} to {high:.2f}: {count:,} tokens, {name}" for low, high, count in bins]
        marker = {"color": colour, "opacity": 0.75, "pattern": {"shape": pattern}}
        shown = {"name": name, "marker": marker, "hovertext": hover, "hoverinfo": "text"}
        traces.append(bars((edges[:-1] + edges[1:]) / 2, counts, width=1 / _BINS, **shown))
    if best_reachable is not None:
        note = note_at(best_reachable, f"least loss at {best_reachable:.4f}", yshift=8)
        marked = {"shapes": [line_at(best_reachable, _DOTTED)], "annotations": [note]}
    x, legend = {"title": _AXIS, "range": [0, 1]}, LEGEND_ABOVE | {"y": 1.08}
    return figure_of(traces, 360, x=x, y={"title": "tokens"}, top=40, legend=legend, barmode="stack", **marked)


def calibration_figure(measured: Confidence) -> go.Figure:
    """Accuracy by the probability of the top-1 prediction; on the diagonal the model is calibrated."""
    mean_probabilities, accuracies, counts = zip(*measured.calibration(), strict=True)
    diagonal = scatter([0, 1], [0, 1], "lines", name="perfect calibration", line=_DOTTED, hoverinfo="skip")
    hover = "mean probability %{x:.2f}, right in %{y:.0%} of %{customdata:,} tokens<extra></extra>"
    look = {"mode": "lines+markers", "name": "this model", "line": {"color": BLUE}, "marker": {"size": 9}}
    curve = scatter(mean_probabilities, accuracies, customdata=counts, hovertemplate=hover, **look)
    x, y = {"title": _AXIS, "range": [0, 1.02]}, {"title": "accuracy", "range": [0, 1.05]}
    return figure_of([diagonal, curve], 360, x=x, y=y, top=40)


def _named(traces: list[dict], ids: np.ndarray, name: Callable[[int], str], x: dict) -> go.Figure:
    rows = token_rows([name(int(id)) for id in ids], grid=True)
    return figure_of(traces, 80 + 17 * len(ids), x=x, y=rows)
