"""Figures of what the model predicts: logits, probabilities, the logit lens, confidence and calibration."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from transformer.arrays import require_index
from transformer.data.batching import make_examples
from transformer.data.pairs import TextPairs
from transformer.decoding.sampling import Truncation, truncate
from transformer.interpret.residual import ResidualStream, record_residual_stream
from transformer.interpret.trace import Trace
from transformer.translator import Translator

from .layout import (
    GRID,
    LEGEND_ABOVE,
    LEGEND_BELOW,
    SMALLEST_LABEL,
    bars,
    candidate_rows,
    figure_of,
    line_at,
    note_at,
    row_bars,
    scatter,
    titled,
    token_rows,
)
from .numbers import signed
from .palette import BLUE, GREY, LINE_GREY, OLIVE, SERIES_COLOURS
from .tokens import token_label

if TYPE_CHECKING:
    from transformer.evaluation import Confidence


SHOWN, PRESENTED = 20, 10  # tokens of the vocabulary that are drawn, best first: at a desk, and with larger letters
_BINS = 25
_DOTTED = {"color": GREY, "dash": "dot"}
_CHOSEN = {"color": BLUE, "width": 3}
_OTHERS = {"color": LINE_GREY, "width": 1}
_AXIS = "probability of the top-1 prediction"


def logits_figure(cut: Truncation, name: Callable[[int], str], most: int = SHOWN) -> go.Figure:
    """Draw the `most` largest logits, each with its token; `name` turns an id into the token's text."""
    ids = cut.order[:most]
    hover = [
        f"{token_label(name(int(id)))} (id {id})<br>logit {cut.logits[id]:.4f}<br>probability {cut.own[id]:.4f}"
        for id in ids
    ]
    shown = row_bars(cut.logits[ids], hover, BLUE, texts=[signed(value, 2) for value in cut.logits[ids]])
    traces = [shown | {"constraintext": "none", "insidetextfont": {"size": SMALLEST_LABEL}}]
    return _named(traces, ids, name, {"title": "logit"})


def truncation_figure(cut: Truncation, name: Callable[[int], str], most: int = SHOWN) -> go.Figure:
    """Draw the probabilities of the same tokens: softmax as markers, the sampling distribution as bars."""
    ids = cut.order[:most]
    hover = [
        f"{token_label(name(int(id)))}, {'kept' if cut.kept[id] else 'truncated'}<br>softmax of the logits "
        f"{cut.own[id]:.4f}<br>sampling distribution {cut.final[id]:.4f}"
        for id in ids
    ]
    symbols = ["diamond-open" if cut.kept[id] else "x-thin-open" for id in ids]
    marker = {"symbol": symbols, "size": 10, "color": OLIVE, "line": {"width": 2}}
    look = {"name": "softmax of the logits", "marker": marker, "hovertext": hover, "hoverinfo": "text"}
    diamonds = scatter(cut.own[ids], list(range(len(ids))), "markers", **look)
    traces = [row_bars(cut.final[ids], hover, BLUE, "sampling distribution"), diamonds]
    end = max(0.05, 1.08 * float(max(cut.final.max(), cut.own.max())))
    return _named(traces, ids, name, {"title": "probability", "range": [0, end]}, top=45)


def layer_names(rows: int) -> list[str]:
    """Return what the rows of a lens are called."""
    return ["start", *(f"layer {layer}" for layer in range(1, rows))]


def histogram_figure(measured: "Confidence", best_reachable: float | None) -> go.Figure:
    """Draw tokens by the probability of the top-1 prediction, right and wrong; a line where the loss is least."""
    edges = np.linspace(0, 1, _BINS + 1)
    traces: list[dict] = []
    marked: dict[str, Any] = {}
    for name, chosen, colour, pattern in (
        ("top-1 is the reference token", measured.right, BLUE, ""),
        ("top-1 is another token", ~measured.right, OLIVE, "/"),
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


def calibration_figure(measured: "Confidence") -> go.Figure:
    """Draw accuracy by the probability of the top-1 prediction; on the diagonal the model is calibrated."""
    mean_probabilities, accuracies, counts = zip(*measured.calibration(), strict=True)
    diagonal = scatter([0, 1], [0, 1], "lines", name="perfect calibration", line=_DOTTED, hoverinfo="skip")
    hover = "mean probability %{x:.2f}, right in %{y:.0%} of %{customdata:,} tokens<extra></extra>"
    look = {"name": "this model", "line": {"color": BLUE}, "marker": {"size": 9}, "hovertemplate": hover}
    curve = scatter(mean_probabilities, accuracies, "lines+markers", customdata=counts, **look)
    x, y = {"title": _AXIS, "range": [0, 1.02]}, {"title": "accuracy", "range": [0, 1.05]}
    return figure_of([diagonal, curve], 360, x=x, y=y, top=40)


def _named(traces: list[dict], ids: np.ndarray, name: Callable[[int], str], x: dict, top: int = 30) -> go.Figure:
    rows = candidate_rows([name(int(id)) for id in ids])
    return figure_of(traces, 80 + 17 * len(ids), x=x, y=rows, top=top, bottom=65)


_ROW_HEIGHT = 26  # pixels


def logits(translator: Translator, trace: Trace, *, step: int = 0) -> go.Figure:
    """Draw the largest logits of a decoder `step`, counted from 0, each with its token.

    Raises ValueError for a step that the trace does not have.
    """
    shown = truncate(_stream(translator, trace, step).logits[step])
    return logits_figure(shown, translator.tokenizer.piece_text)


def probabilities(
    translator: Translator, trace: Trace, *, step: int = 0, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0
) -> go.Figure:
    """Draw the probabilities of a decoder `step`, counted from 0: softmax of the logits, and what sampling draws from.

    Sampling divides the logits by `temperature`, keeps the `top_k` best (0: all), and of these the fewest that hold
    `top_p` of the mass. Raises ValueError for a step that the trace does not have, and for a truncation that cannot be.
    """
    stream, forbidden = _stream(translator, trace, step), translator.model.config.never_chosen
    cut = truncate(stream.logits[step], temperature, top_k, top_p, forbidden)
    return truncation_figure(cut, translator.tokenizer.piece_text)


def confidence(trace: Trace, *, best: float = 1.0) -> go.Figure:
    """Draw the probability that the model gave to each output token, a row per step.

    A line marks `best`, the probability at which the training's loss was least: 1, or less with label smoothing.
    """
    steps = len(trace.target_tokens)
    tokens = [token_label(token) for token in trace.target_tokens]
    hover = [
        f"Step {step}: “{token}”<br>probability <b>{probability:.4f}</b>"
        for step, (token, probability) in enumerate(zip(tokens, trace.target_probabilities, strict=True), start=1)
    ]
    dots = {
        "marker": {"color": SERIES_COLOURS[0], "size": 11},
        "hovertext": hover,
        "hoverinfo": "text",
        "name": "this model",
    }
    line = {
        "line": {"color": SERIES_COLOURS[1], "width": 2.5, "dash": "dash"},
        "hovertemplate": f"the loss is least at <b>{best:.4f}</b><extra></extra>",
        "name": f"least loss: {best:.4f}",
    }
    traces = [
        scatter(trace.target_probabilities.astype(np.float32), np.arange(steps), "markers", **dots),
        scatter([best, best], [-0.5, steps - 0.5], "lines", **line),
    ]
    scale = {"range": [0, 1.01], "tickvals": [0, 0.25, 0.5, 0.75, 0.9, 1], "side": "top"}
    x, y = {**GRID, **scale, "title": titled("probability of the next token")}, token_rows(trace.target_tokens)
    return figure_of(traces, steps * _ROW_HEIGHT + 110, x=x, y=y, top=10, legend=LEGEND_BELOW)


def calibration(translator: Translator, pairs: TextPairs) -> go.Figure:
    """Draw over `pairs` of source and target texts how often the top-1 prediction is right, by its probability.

    Raises DataError where no pair fits the model.
    """
    return calibration_figure(_measured(translator, pairs))


def confidence_histogram(translator: Translator, pairs: TextPairs) -> go.Figure:
    """Draw over `pairs` of source and target texts how many tokens have which top-1 probability, right and wrong.

    Raises DataError where no pair fits the model.
    """
    return histogram_figure(_measured(translator, pairs), None)


def _stream(translator: Translator, trace: Trace, step: int) -> ResidualStream:
    """Run the model once more; raises ValueError for a step that the trace does not have."""
    require_index("step", step, len(trace.target_ids))
    return record_residual_stream(translator.model, trace.source_ids, trace.decoder_input_ids)


def _measured(translator: Translator, pairs: TextPairs) -> "Confidence":
    from transformer.evaluation import measure_confidence  # with sacreBLEU, which no page needs at once

    examples = make_examples(pairs, translator.tokenizer, translator.model.config.max_length)
    return measure_confidence(translator.model, examples)
