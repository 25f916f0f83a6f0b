"""Figures of predictions: probabilities, the logit lens, confidence and calibration."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from headlight.language import texts_beside
from transformer.decoding.sampling import Truncation

from .layout import (
    LEGEND_ABOVE,
    Theme,
    bars,
    candidate_rows,
    figure_of,
    line_at,
    note_at,
    percent_axis,
    row_bars,
    scatter,
)
from .numbers import format_probability, signed
from .palette import GREY, OLIVE, PROBABILITY
from .tokens import token_label

if TYPE_CHECKING:
    from transformer.evaluation import Confidence


SHOWN, PRESENTED = 20, 10  # tokens of the vocabulary that are drawn, best first: at a desk, and with larger letters
_BINS = 25
_DOTTED = {"color": GREY, "dash": "dot"}
_text = texts_beside(__file__)


def probabilities(
    cut: Truncation, name: Callable[[int], str], most: int = SHOWN, *, theme: Theme = "paper"
) -> go.Figure:
    """Draw the `most` largest probabilities, each with its token: softmax as markers, for sampling as bars.

    `cut`: of `transformer.decoding.sampling.truncate`; `name`: of an id the token's text, `tokenizer.piece_text`.
    """
    ids = cut.order[:most]
    hover = [
        _text(
            "kept" if cut.retained[id] else "truncated",
            token=token_label(name(int(id))),
            id=id,
            logit=signed(cut.logits[id]),
            plain=format_probability(cut.plain[id]),
            final=format_probability(cut.final[id]),
        )
        for id in ids
    ]
    symbols = ["diamond-open" if cut.retained[id] else "x-thin-open" for id in ids]
    marker = {"symbol": symbols, "size": 10, "color": OLIVE, "line": {"width": 2}}
    look = {"name": _text("softmax"), "marker": marker, "hovertext": hover, "hoverinfo": "text"}
    diamonds = scatter(cut.plain[ids], list(range(len(ids))), "markers", **look)
    traces = [row_bars(cut.final[ids], hover, PROBABILITY, _text("sampling")), diamonds]
    end = max(0.05, 1.08 * float(max(cut.final.max(), cut.plain.max())))
    x, y = percent_axis(end, _text("probability")), candidate_rows([name(int(id)) for id in ids])
    return figure_of(traces, 80 + 18 * len(ids), theme=theme, x=x, y=y, top=49, bottom=65)


def layer_names(rows: int) -> list[str]:
    """Return the names of a lens's rows."""
    return [_text("start"), *(_text("layer", layer=layer) for layer in range(1, rows))]


def confidence_histogram(
    measured: "Confidence", best_reachable: float | None = None, *, theme: Theme = "paper"
) -> go.Figure:
    """Draw tokens by the probability of the top-1 prediction, right and wrong; a line at `best_reachable`.

    `measured`: of `transformer.evaluation.measure_confidence`; `best_reachable`: the probability of the least loss.
    """
    edges = np.linspace(0, 1, _BINS + 1)
    traces: list[dict] = []
    marked: dict[str, Any] = {}
    for name, chosen, colour, pattern in (
        (_text("right"), measured.right, PROBABILITY, ""),
        (_text("wrong"), ~measured.right, OLIVE, "/"),
    ):
        counts, _ = np.histogram(measured.best[chosen], edges)
        bins = zip(edges[:-1], edges[1:], counts, strict=True)
        hover = [_text("bin", low=100 * low, high=100 * high, tokens=count, name=name) for low, high, count in bins]
        marker = {"color": colour, "opacity": 0.75, "pattern": {"shape": pattern}}
        shown = {"name": name, "marker": marker, "hovertext": hover, "hoverinfo": "text"}
        traces.append(bars((edges[:-1] + edges[1:]) / 2, counts, width=1 / _BINS, **shown))
    if best_reachable is not None:
        note = note_at(best_reachable, _text("least_loss", percent=100 * best_reachable), yshift=8)
        marked = {"shapes": [line_at(best_reachable, _DOTTED)], "annotations": [note]}
    look: dict[str, Any] = {"legend": LEGEND_ABOVE | {"y": 1.08}, "barmode": "stack"}
    x, y = percent_axis(1.0, _text("best")), {"title": _text("tokens")}
    return figure_of(traces, 360, theme=theme, x=x, y=y, top=40, **look, **marked)


def calibration(measured: "Confidence", *, theme: Theme = "paper") -> go.Figure:
    """Draw accuracy by the probability of the top-1 prediction; on the diagonal the model is calibrated."""
    mean_probabilities, accuracies, counts = zip(*measured.calibration(), strict=True)
    diagonal = scatter([0, 1], [0, 1], "lines", name=_text("perfect"), line=_DOTTED, hoverinfo="skip")
    hover = _text("calibration_hover")
    look = {"name": _text("model"), "line": {"color": PROBABILITY}, "marker": {"size": 9}, "hovertemplate": hover}
    curve = scatter(mean_probabilities, accuracies, "lines+markers", customdata=counts, **look)
    x, y = percent_axis(1.02, _text("best")), percent_axis(1.05, _text("accuracy"))
    return figure_of([diagonal, curve], 360, theme=theme, x=x, y=y, top=40)
