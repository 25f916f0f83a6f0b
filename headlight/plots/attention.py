"""Figures of attention: the weights of a head, and the effect of the division by the root of d_k."""

from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from headlight.language import texts_beside
from transformer.experiments.attention import RandomProducts
from transformer.interpret.attention_block import Stages, undivided
from transformer.interpret.trace import RowLabel, Trace, attention_map
from transformer.model.names import AttentionKind

from .heatmap import (
    HALF_OF_WIDTH,
    Cells,
    Heatmap,
    axis_names,
    heatmap_figure,
    hover_texts,
    row_words,
    weight_texts,
    weight_words,
)
from .layout import Theme, figure_of, line_at, logarithmic_axis, note_at, percent_axis, scatter, token_rows
from .names import head_name, sentence_case
from .numbers import percent
from .palette import BLUE, GREY, MIDDLE_GREY, OLIVE
from .tokens import token_label

_WITHOUT, _WITH = {"color": OLIVE, "dash": "dash"}, {"color": BLUE, "dash": "solid"}
_text = texts_beside(__file__)


def head(
    trace: Trace,
    kind: AttentionKind | str = "cross",
    *,
    layer: int | None = None,
    head: int | None = None,
    rows: RowLabel | str = "predicted",
    side: int = HALF_OF_WIDTH,
    content_only: bool = False,
    theme: Theme = "paper",
) -> go.Figure:
    """Draw the weights of a head, from 0 to 1: rows are queries, columns keys, cells under the causal mask blank.

    `kind`: "encoder", "decoder" or "cross"; `layer` and `head` count from 0; without one of them, the mean over all
    layers or heads. `rows` names a decoder row after the token it predicts, the one it is "fed", or "both". The figure
    fits into a square of `side` pixels. `content_only` leaves end, language tags and punctuation out of the keys,
    divides each row by its rest, and names the share that was left out. Raises ValueError for a head that the trace
    does not have.
    """
    bar = _text("weight")
    if content_only:
        content, kind = trace.content_only(), AttentionKind(kind)
        removed = content.removed[kind][tuple(slice(None) if each is None else each for each in (layer, head))]
        bar = _text("content", removed=percent(float(removed.mean())))
        weights: dict[str, Any] = {kind: content.weights[kind]}
        trace = replace(trace, **weights)
    shown = attention_map(trace, kind, layer, head, rows)
    name = sentence_case(head_name(shown.layer, shown.head, shown.layers, shown.heads))
    words = [f"{name}<br>{row_words(shown, row)}" for row in range(len(shown.weights))]
    cells = Cells(shown.weights, hover_texts(words, shown.keys, weight_words(shown.weights)), bar=bar)
    names, texts = axis_names(shown.kind, shown.row_label), weight_texts(shown.weights)
    return heatmap_figure(Heatmap((cells,), shown.queries, shown.keys, *names, side, texts).within(side), theme)


def without_scaling(stages: Stages, head: int, queries: tuple[str, ...], *, theme: Theme = "paper") -> go.Figure:
    """Draw the largest weight of every query of a head, counted from 0, with the division by sqrt(d_k) and without it.

    `stages`: of `Study.stages`.
    """
    without, divided = (weights.max(axis=-1) for weights in undivided(stages, head))
    traces, places = [], list(range(len(queries)))
    for name, values, colour, symbol in (
        (_text("with_out" if stages.is_divided else "own_without"), without, OLIVE, "diamond"),
        (_text("own_with" if stages.is_divided else "with"), divided, BLUE, "circle"),
    ):
        words = zip(queries, values, strict=True)
        hover = [_text("largest", query=token_label(query), percent=100 * value, name=name) for query, value in words]
        look = {"color": colour, "symbol": symbol, "size": 10}
        traces.append(scatter(values, places, "markers", name=name, marker=look, hovertext=hover, hoverinfo="text"))
    between = {"type": "line", "layer": "below", "line": {"color": MIDDLE_GREY, "width": 1}}
    lines = [
        {"x0": left, "x1": right, "y0": row, "y1": row, **between}
        for row, (left, right) in enumerate(zip(divided, without, strict=True))
    ]
    x, y = percent_axis(1.0, _text("largest_axis")) | {"range": [-0.02, 1.03]}, token_rows(queries)
    return figure_of(traces, 110 + 24 * len(queries), theme=theme, x=x, y=y | {"showgrid": True}, shapes=lines)


def score_deviation(spread: RandomProducts, d_k: int, *, theme: Theme = "paper") -> go.Figure:
    """Draw the standard deviation of dot products of random vectors over their size, divided by sqrt(d_k) and not.

    `spread`: of `transformer.experiments.attention.measure_random_products`. A line marks the model's `d_k`.
    """
    look = {"name": "√d_k", "line": {"color": GREY, "dash": "dot"}}
    curves = [
        _scaling_line(spread, "q·k", spread.products, _WITHOUT, _text("deviation_of", product="q·k")),
        _scaling_line(spread, "q·k / √d_k", spread.scores, _WITH, _text("deviation_of", product="q·k / √d_k")),
        scatter(spread.sizes, np.sqrt(spread.sizes), "lines", hovertemplate="√%{x} = %{y:.3f}<extra></extra>", **look),
    ]
    return _over_sizes(curves, spread, d_k, logarithmic_axis(_text("deviation")), theme)


def largest_weight(spread: RandomProducts, d_k: int, *, theme: Theme = "paper") -> go.Figure:
    """Draw the mean largest weight that softmax makes of the products in `score_deviation`, divided and not."""
    without, divided = _text("with_out"), _text("with")
    curves = [
        _scaling_line(spread, without, spread.largest, _WITHOUT, _text("most", name=without)),
        _scaling_line(spread, divided, spread.largest_scaled, _WITH, _text("most", name=divided)),
    ]
    y = percent_axis(1.03, _text("largest_of", keys=spread.keys))
    return _over_sizes(curves, spread, d_k, y, theme)


def _scaling_line(spread: RandomProducts, name: str, values: np.ndarray, line: dict, measure: str) -> dict:
    hover = f"d_k %{{x}}<br>{measure} %{{y:.3f}}<extra></extra>"
    return scatter(spread.sizes, values, "lines+markers", name=name, line=line, hovertemplate=hover)


def _over_sizes(curves: list[dict], spread: RandomProducts, d_k: int, y: dict, theme: Theme) -> go.Figure:
    """Return a figure of curves over d_k, with a line at the model's own."""
    x = {"type": "log", "title": "d_k", "tickvals": spread.sizes}
    line = line_at(d_k, {"color": GREY, "width": 1, "dash": "dot"})
    note = note_at(np.log10(d_k), _text("model", size=d_k))
    return figure_of(curves, 340, theme=theme, x=x, y=y, shapes=[line], annotations=[note])
