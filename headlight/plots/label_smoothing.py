"""Figures of label smoothing: the target distribution cell by cell, and the loss by the probability given."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.experiments.training import Smoothing, SmoothingForm
from transformer.translator import Translator

from .heatmap import BLANK, ROOM_OF_A_HALF, Cells, Heatmap, heatmap_figure
from .layout import GRID, LEFT, figure_of, scatter, with_light_theme
from .palette import SERIES_COLOURS, SERIES_SYMBOLS
from .text import token_label

PAD, END = 0, 1  # ids in the example's vocabulary, which begins with them

_VOCABULARY = "<pad> </s> the dog sees a cat and it runs to an old tree by night"

WORDS = tuple(_VOCABULARY.split())

LONGEST_EXAMPLE = 5  # words

MEASURES = ("cross-entropy", "KL divergence")

_CONFIDENCES = np.concatenate([np.linspace(0.01, 0.99, 99), 1 - np.geomspace(0.009, 1e-6, 30)])

_DASHES = ("solid", "dash", "dashdot", "longdash", "dot")

_TOP = 3.0  # nats, more where a minimum lies higher: the loss grows without bound where p comes near 0


def example_target(classes: int) -> list[int]:
    """Return a target of words of a vocabulary of so many classes, its end, and a position of padding."""
    return [*range(2, min(classes, 2 + LONGEST_EXAMPLE)), END, PAD]


def targets_figure(smoothing: Smoothing) -> go.Figure:
    """Draw the distribution that each position of the example is trained towards: positions by classes."""
    ids = example_target(smoothing.classes)
    table = smoothing.targets(ids, PAD)
    texts = [["" if id == PAD else short_mass(mass) for mass in row] for id, row in zip(ids, table, strict=True)]
    hover = [[_hover(place, id, k, mass) for k, mass in enumerate(table[place])] for place, id in enumerate(ids)]
    cells = Cells(np.where(np.array(ids)[:, None] == PAD, BLANK, table), hover, hover_blank=True)
    rows, columns = tuple(WORDS[id] for id in ids), WORDS[: smoothing.classes]
    return heatmap_figure(Heatmap((cells,), rows, columns, "position: its right class", "class", ROOM_OF_A_HALF, texts))


def loss_figure(smoothings: Sequence[Smoothing], chosen: float, measure: str) -> go.Figure:
    """Draw the loss over the probability of the right class, a curve for each epsilon, its minimum marked.

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
    return figure_of(traces, 420, x=x, y=y, top=10, bottom=10, showlegend=True, hoverlabel=LEFT)


def short_mass(mass: float) -> str:
    """Write a mass for a small cell, three decimals at most, without idle zeros: .92, .033, 1, 0."""
    text = f"{mass:.3f}".rstrip("0").rstrip(".")
    return text.removeprefix("0") or "0"


def _hover(place: int, right: int, k: int, mass: float) -> str:
    if right == PAD:
        return f"Position {place + 1} is padding: nothing is trained here"
    of_class = f"class “{token_label(WORDS[k])}”{', the right one' if k == right else ''}"
    return f"Position {place + 1}, “{token_label(WORDS[right])}”<br>{of_class}: mass <b>{mass:.4f}</b>"


def smoothed_targets(
    *, epsilon: float = 0.1, classes: int = 5, form: SmoothingForm | str = SmoothingForm.ALL
) -> go.Figure:
    """Draw what label smoothing by `epsilon` makes of an example's targets, a cell per position and class.

    `form`: over which classes the mass is spread, "all classes" or "all but target and padding". Raises ConfigError, a
    ValueError, for settings that cannot be, and ValueError for more classes than the example has words.
    """
    if classes > len(WORDS):
        raise ValueError(f"the example has words for {len(WORDS)} classes at most, got {classes}")
    return with_light_theme(targets_figure(Smoothing(SmoothingForm(form), epsilon, classes)))


def smoothed_loss(
    translator: Translator,
    *,
    epsilons: Sequence[float] = (0.0, 0.1, 0.2),
    form: SmoothingForm | str = SmoothingForm.ALL,
    measure: str = "cross-entropy",
) -> go.Figure:
    """Draw the loss in nats over the probability given to the right token, for the model's vocabulary.

    A curve per epsilon, at most five; the last is thicker. `measure` is "cross-entropy" or "KL divergence", `form` as
    for `smoothed_targets`. Raises ConfigError, a ValueError, for settings that cannot be, and ValueError.
    """
    if measure not in MEASURES or not 1 <= len(epsilons) <= len(_DASHES):
        raise ValueError(
            f"a measure of {', '.join(MEASURES)} and 1 to 5 epsilons expected, got {measure!r}, {epsilons}"
        )
    classes = translator.model.config.output_size
    smoothings = [Smoothing(SmoothingForm(form), epsilon, classes) for epsilon in epsilons]
    return with_light_theme(loss_figure(smoothings, epsilons[-1], measure))
