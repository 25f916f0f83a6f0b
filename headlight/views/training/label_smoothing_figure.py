"""Label smoothing drawn: the target distribution cell by cell, and the loss over the right class's probability."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from headlight.plots.heatmap import BLANK, ROOM_OF_A_HALF, Cells, Heatmap, heatmap_figure
from headlight.plots.layout import GRID, LEGEND_BELOW, figure_of, scatter, titled, token_rows
from headlight.plots.palette import SERIES_COLOURS, SERIES_SYMBOLS
from headlight.plots.text import token_label
from transformer.experiments.label_smoothing import Smoothing
from transformer.interpret.trace import Trace

PAD, END = 0, 1  # ids in the example's vocabulary, which begins with them
_VOCABULARY = "<pad> </s> the dog sees a cat and it runs to an old tree by night"
WORDS = tuple(_VOCABULARY.split())
LONGEST_EXAMPLE = 5  # words
MEASURES = ("cross-entropy", "KL divergence")

_CONFIDENCES = np.concatenate([np.linspace(0.01, 0.99, 99), 1 - np.geomspace(0.009, 1e-6, 30)])
_DASHES = ("solid", "dash", "dashdot", "longdash", "dot")
_TOP = 3.0  # nats, more where a minimum lies higher: the loss grows without bound where p comes near 0
_ROW_HEIGHT = 26  # pixels


def example_target(classes: int) -> list[int]:
    """A target of words of a vocabulary of so many classes, its end, and a place of padding."""
    return [*range(2, min(classes, 2 + LONGEST_EXAMPLE)), END, PAD]


def targets_figure(smoothing: Smoothing) -> go.Figure:
    """The distribution that each position of the example is trained towards: rows are positions, columns classes."""
    ids = example_target(smoothing.classes)
    table = smoothing.targets(ids, PAD)
    texts = [["" if id == PAD else short_mass(mass) for mass in row] for id, row in zip(ids, table, strict=True)]
    hover = [[_hover(place, id, k, mass) for k, mass in enumerate(table[place])] for place, id in enumerate(ids)]
    cells = Cells(np.where(np.array(ids)[:, None] == PAD, BLANK, table), hover, hover_blank=True)
    rows, columns = tuple(WORDS[id] for id in ids), WORDS[: smoothing.classes]
    return heatmap_figure(Heatmap((cells,), rows, columns, "position: its right class", "class", ROOM_OF_A_HALF, texts))


def loss_figure(smoothings: Sequence[Smoothing], chosen: float, measure: str) -> go.Figure:
    """The loss over the probability of the right class, a curve for each epsilon, its minimum marked.

    The curve of the epsilon `chosen` is thicker. The legend has the minima in numbers.
    """
    traces, top = [], _TOP
    for place, smoothing in enumerate(smoothings):
        loss = smoothing.cross_entropy if measure == MEASURES[0] else smoothing.divergence
        best = smoothing.find_minimum()[0]
        top = max(top, 1.5 * loss(best))
        name, width = f"ε {smoothing.epsilon:g}", 4 if smoothing.epsilon == chosen else 2
        hover = f"{name}<br>p = %{{x:.4f}}<br>{measure} <b>%{{y:.4f}}</b> nats<extra></extra>"
        line = {"color": SERIES_COLOURS[place], "dash": _DASHES[place], "width": width}
        look = {"line": line, "legendgroup": name}
        losses = np.array([loss(p) for p in _CONFIDENCES], dtype=np.float32)
        traces.append(scatter(_CONFIDENCES, losses, "lines", showlegend=False, hovertemplate=hover, **look))
        minimum = {
            "marker": {"color": SERIES_COLOURS[place], "symbol": SERIES_SYMBOLS[place], "size": 12},
            "name": f"{name}: least {abs(loss(best)):.3f} at p = {best:.3f}",
            "cliponaxis": False,
            "hovertemplate": f"least loss, {hover}",
        }
        # A single point has no line, but its entry in the legend does.
        traces.append(scatter([best], [loss(best)], "lines+markers", **minimum, **look))
    x = {**GRID, "title": "p, what the model gives to the right class", "range": [0, 1]}
    y = {**GRID, "title": f"{measure}, nats", "range": [0, top]}
    look = {"showlegend": True, "hoverlabel": {"align": "left"}}
    return figure_of(traces, 420, x=x, y=y, top=10, bottom=10, **look)


def confidence_figure(trace: Trace, best: float) -> go.Figure:
    """What the model gave to each next token of a sentence, a row a step; a line where the loss is least."""
    steps = len(trace.next_tokens)
    tokens = [token_label(token) for token in trace.next_tokens]
    hover = [
        f"Step {step}: “{token}”<br>probability <b>{probability:.4f}</b>"
        for step, (token, probability) in enumerate(zip(tokens, trace.next_probabilities, strict=True), start=1)
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
        scatter(trace.next_probabilities.astype(np.float32), np.arange(steps), "markers", **dots),
        scatter([best, best], [-0.5, steps - 0.5], "lines", **line),
    ]
    scale = {"range": [0, 1.01], "tickvals": [0, 0.25, 0.5, 0.75, 0.9, 1], "side": "top"}
    x, y = {**GRID, **scale, "title": titled("probability of the next token")}, token_rows(trace.next_tokens)
    return figure_of(traces, steps * _ROW_HEIGHT + 110, x=x, y=y, top=10, legend=LEGEND_BELOW)


def short_mass(mass: float) -> str:
    """A mass for a small cell, three decimals at most, without zeros that say nothing: .92, .033, 1, 0."""
    text = f"{mass:.3f}".rstrip("0").rstrip(".")
    return text.removeprefix("0") or "0"


def _hover(place: int, right: int, k: int, mass: float) -> str:
    if right == PAD:
        return f"Position {place + 1} is padding: nothing is trained here"
    of_class = f"class “{token_label(WORDS[k])}”{', the right one' if k == right else ''}"
    return f"Position {place + 1}, “{token_label(WORDS[right])}”<br>{of_class}: mass <b>{mass:.4f}</b>"
