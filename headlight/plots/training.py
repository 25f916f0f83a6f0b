"""Figures of training: learning rates, batches and their padding, runs compared, the shifted target, smoothing."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from transformer.config import TrainingConfig
from transformer.data.batching import count_padding, epoch_batches, make_examples, random_batches
from transformer.data.pairs import TextPairs
from transformer.experiments.training import Smoothing, SmoothingForm
from transformer.interpret.trace import Trace
from transformer.training import optimization
from transformer.training.optimization import Noam
from transformer.training.replay import TrainingReplay
from transformer.translator import Translator

from .heatmap import BLANK, ROOM_OF_A_HALF, Cells, Heatmap, heatmap_figure
from .layout import GRID, LEFT, SMALLEST_LABEL, figure_of, scatter, titled
from .palette import (
    BLUE,
    INK,
    MIDDLE_GREY,
    MODEL_COLOUR,
    OLIVE,
    SERIES_COLOURS,
    SERIES_SYMBOLS,
    SOLID_GREY,
    see_through,
)
from .text import scientific, shown_tokens, token_label

PAPER = Noam(d_model=512, warmup_steps=4000)
AXES = ("linear", "logarithmic")
CURVE_POINTS = 240  # of each way of thinning, evenly and by ratio
_HOVER = "{}<br>step %{{x:,}}<br>rate <b>%{{y:.{}~g}}</b><extra></extra>"  # of what, and digits of the rate


def thinned(last_step: int, *kept: int) -> np.ndarray:
    """Return some of the steps from 1 to `last_step`, close enough for either kind of axis, the `kept` among them."""
    evenly = np.linspace(1, last_step, CURVE_POINTS)
    by_ratio = np.geomspace(1, last_step, CURVE_POINTS)
    inside = [step for step in kept if 1 <= step <= last_step]
    return np.unique(np.concatenate([evenly, by_ratio, inside]).round().astype(np.int64))


def rates_figure(curves: Sequence[Noam], rates: Sequence[np.ndarray], axes: str) -> go.Figure:
    """Draw each curve with its peak marked; `rates`: of each curve, that of every step from 1 on, all as many.

    The legend has the peaks in numbers: beside the marks they would lie on the other curves.
    """
    traces = []
    for place, (curve, values) in enumerate(zip(curves, rates, strict=True)):
        peak = int(values.argmax()) + 1
        steps = thinned(len(values), peak)
        name = f"curve {place + 1}"
        settings = f"d_model {curve.d_model:,}, warm-up {curve.warmup_steps:,}, factor {curve.factor:g}"
        line = {"color": SERIES_COLOURS[place], "width": 2.5, "dash": _DASHES[place]}
        look = {"line": line, "legendgroup": name}
        own = {"showlegend": False, "hovertemplate": _HOVER.format(f"{name}: {settings}", 4)}
        traces.append(scatter(steps.astype(np.int32), values[steps - 1], "lines", **own, **look))
        mark = {
            "marker": {"color": SERIES_COLOURS[place], "symbol": SERIES_SYMBOLS[place], "size": 13},
            "name": f"{name} peaks at step {peak:,}: {scientific(values[peak - 1])}",
            "hovertemplate": _HOVER.format(f"peak of {name}: {settings}", 6),
        }
        # A single point has no line, but its entry in the legend does.
        traces.append(scatter([peak], [values[peak - 1]], "lines+markers", **mark, **look))
    highest = max(float(values.max()) for values in rates)
    return _with_axes(traces, len(rates[0]), highest, axes)


def trained_figure(
    settings: TrainingConfig, d_model: int, recorded: Sequence[tuple[int, float]], axes: str
) -> go.Figure:
    """Draw a checkpoint's rate by step beside the paper's, with dots for `recorded`: (step, rate) pairs of its run."""
    last = settings.max_steps
    cooling = last - settings.cooldown_steps
    steps = thinned(last, settings.warmup_steps, cooling, cooling + 1)
    own = np.array([optimization.learning_rate(int(step), d_model, settings) for step in steps])
    paper = PAPER.rates(last)[steps - 1]
    traces = []
    for name, values, colour, dash in (
        ("this checkpoint", own, MODEL_COLOUR, "solid"),
        ("the paper's base model: d_model 512, warm-up 4,000", paper, SERIES_COLOURS[0], "dash"),
    ):
        line, hover = {"color": colour, "width": 2.5, "dash": dash}, _HOVER.format(name, 4)
        traces.append(scatter(steps.astype(np.int32), values, "lines", line=line, name=name, hovertemplate=hover))
    if recorded:
        look = {
            "marker": {"color": MODEL_COLOUR, "symbol": "diamond", "size": 9},
            "name": "as its training wrote it down",
            "cliponaxis": False,
            "hovertemplate": _HOVER.format("written down in training", 6),
        }
        traces.append(scatter([step for step, _ in recorded], [rate for _, rate in recorded], "markers", **look))
    return _with_axes(traces, last, float(max(own.max(), paper.max())), axes)


def _with_axes(traces: list[dict], last_step: int, highest: float, axes: str) -> go.Figure:
    """Give both figures one look; the legend stands above, one entry a line on a phone, so the height grows with it."""
    logarithmic = axes == "logarithmic"
    x = {"type": "log", "range": [0, np.log10(last_step)], "dtick": 1} if logarithmic else {"range": [0, last_step]}
    y = {"type": "log", "dtick": 1} if logarithmic else {"range": [0, 1.12 * highest]}
    x = {**GRID, **x, "title": "step", "tickformat": ",d"}
    y = {**GRID, **y, "title": "rate", "tickformat": "~g"}
    margin = {"l": 10, "r": 30, "t": 10, "b": 10}  # on the right for half of the last label
    return figure_of(traces, 400, x=x, y=y, showlegend=True, hoverlabel=LEFT, margin=margin)


WAYS = ("by length", "at random")

_TALLEST, _ROW_HEIGHTS = 760, (4, 24)  # pixels
_SMALLEST_ROW_WITH_TEXT, _FEWEST_LETTERS, _LETTER = 15, 5, 7.5  # pixels, letters, pixels
_TOKEN, _END = see_through(BLUE, 0.42), see_through(BLUE, 0.72)
_TOKENS = [[0.0, _TOKEN], [0.5, _TOKEN], [0.5, _END], [1.0, _END]]
_FRAME = {"color": MIDDLE_GREY, "width": 1}
_HATCH = {"color": MIDDLE_GREY, "width": 1}
_CHOSEN_ROW = {"color": INK, "width": 2}


def batch_figure(
    tokens: Sequence[Sequence[str]], lengths: Sequence[int], end: str, side: str, chosen: int
) -> go.Figure:
    """Draw one side of a batch: rows are sentences from top to bottom, columns positions, both counted from 1.

    tokens: [sentences, longest], of each sentence the first `lengths` real, the rest padding, which is hatched.
    The token `end` is of a stronger colour; a frame is around the sentence `chosen`, counted from 0.
    """
    rows, columns = len(tokens), len(tokens[0])
    low, high = _ROW_HEIGHTS
    height = min(high, max(low, _TALLEST / rows))
    cells = {**_cells(tokens, lengths, end, side), "xgap": 1, "ygap": 1 if height > 2 * low else 0}
    x = _axis(columns, f"{side} position", "top", [0.4, columns + 0.6])
    y = _axis(rows, "sentence", "left", [rows + 0.6, 0.4])
    look: dict[str, Any] = {
        "shapes": [
            {"type": "path", "path": _hatching(columns, lengths), "line": _HATCH, "layer": "below"},
            {"type": "path", "path": _box(0, rows, columns), "line": _FRAME, "layer": "below"},
            {"type": "path", "path": _box(chosen, chosen + 1, columns), "line": _CHOSEN_ROW},
        ],
        "margin": {"l": 5, "r": 5, "t": 5, "b": 5},
    }
    traces = [cells, *_texts(tokens, lengths, height)]
    return figure_of(traces, round(rows * height) + 70, x=x, y=y, legend=None, showlegend=False, **look)


def ratios_figure(ratios: Mapping[str, Sequence[float]], chosen: tuple[str, float]) -> go.Figure:
    """Draw the padding ratio of every batch by way of batching, least first; the `chosen` way and ratio are ringed."""
    traces = []
    looks = zip(SERIES_COLOURS, ("circle", "diamond"), ("solid", "dash"), strict=False)
    for (name, values), (colour, symbol, dash) in zip(ratios.items(), looks, strict=False):
        what = f"batched {name}<br>batch %{{x}} of {len(values)} by its padding"
        look = {
            "line": {"color": colour, "width": 2, "dash": dash},
            "marker": {"color": colour, "symbol": symbol, "size": 9},
            "name": f"batched {name}",
            "hovertemplate": f"{what}<br>padding <b>%{{y:.1%}}</b><extra></extra>",
        }
        numbers = np.arange(1, len(values) + 1, dtype=np.int16)
        traces.append(scatter(numbers, np.sort(values).astype(np.float32), "lines+markers", **look))
    way, ratio = chosen
    place = int(np.searchsorted(np.sort(ratios[way]), ratio)) + 1
    ring = {"symbol": "circle-open", "size": 18, "color": INK, "line": {"width": 2}}
    traces.append(scatter([place], [ratio], "markers", marker=ring, name="the batch above", hoverinfo="skip"))
    most = max(map(len, ratios.values()))
    x = {**GRID, "title": "batches of the epoch, least padding first", "range": [0, most + 1]}
    y = {**GRID, "title": "share of padding", "tickformat": ".0%", "rangemode": "tozero"}
    return figure_of(traces, 360, x=x, y=y, top=10, bottom=10, hoverlabel={"align": "left"})


def _cells(tokens: Sequence[Sequence[str]], lengths: Sequence[int], end: str, side: str) -> dict:
    """Return a cell for each token, blank where padding is; hovering names either."""
    z = [
        [float(token == end) if place < length else BLANK for place, token in enumerate(row)]
        for row, length in zip(tokens, lengths, strict=True)
    ]
    steps = {"x0": 1, "dx": 1, "y0": 1, "dy": 1}
    colours = {"zmin": 0, "zmax": 1, "colorscale": _TOKENS, "showscale": False}
    hover = f"sentence %{{y}}, {side} position %{{x}}<br><b>%{{text}}</b><extra></extra>"
    texts = [[token_label(token) for token in row] for row in tokens]
    shown = {"text": texts, "hovertemplate": hover, "hoverongaps": True}
    return {"type": "heatmap", "z": np.array(z, dtype=np.float32), **shown, **steps, **colours}


def _texts(tokens: Sequence[Sequence[str]], lengths: Sequence[int], height: float) -> list[dict]:
    """Return the tokens in their cells, cut to what fits, none where only a few letters would; hovering has all."""
    letters = int(ROOM_OF_A_HALF / len(tokens[0]) / _LETTER)
    if height < _SMALLEST_ROW_WITH_TEXT or letters < _FEWEST_LETTERS:
        return []
    places = [
        (column, row, token_label(token if len(token) <= letters else f"{token[: letters - 1]}…"))
        for row, (line, length) in enumerate(zip(tokens, lengths, strict=True), start=1)
        for column, token in enumerate(shown_tokens(line[:length]), start=1)
    ]
    x, y, text = map(list, zip(*places, strict=True))
    return [scatter(x, y, "text", text=text, textfont={"size": SMALLEST_LABEL}, hoverinfo="skip")]


def _axis(count: int, name: str, side: str, limits: list[float]) -> dict:
    """Return an axis of whole numbers from 1, not more of them than are read."""
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200) if count / step <= 16 or step == 200)
    ticks = sorted({1, *range(step, count + 1, step)}) if step > 1 else list(range(1, count + 1))
    look = {"showgrid": False, "zeroline": False, "automargin": True}
    return {"title": titled(name, 6), "tickvals": ticks, "side": side, "range": limits, **look}


def _hatching(columns: int, lengths: Sequence[int]) -> str:
    """Return a stroke across each cell of padding."""
    return "".join(
        f"M{column - 0.5},{row + 0.5}L{column + 0.5},{row - 0.5}"
        for row, length in enumerate(lengths, start=1)
        for column in range(length + 1, columns + 1)
    )


def _box(first: int, last: int, columns: int) -> str:
    """Return a path around the rows from `first` to before `last`, counted from 0."""
    right, top, bottom = columns + 0.5, first + 0.5, last + 0.5
    return f"M0.5,{top}L{right},{top}L{right},{bottom}L0.5,{bottom}Z"


_LOSS_TICKS = np.array([float(f"{first}e{power}") for power in range(-5, 3) for first in (1, 2, 5)])


def runs_figure(runs: Sequence[tuple[str, TrainingReplay]]) -> go.Figure:
    """Draw each run, a name and a replay: the training loss above, on a logarithmic axis, the exact match below."""
    traces = []
    for place, (name, replay) in enumerate(runs):
        line = {"color": SERIES_COLOURS[place], "width": 2.5, "dash": _DASHES[place % 2]}
        curves = ("y", replay.losses, "loss", ".3f"), ("y2", replay.scores, "exact match", ".1%")
        for axis, curve, what, form in curves:
            look = {
                "yaxis": axis,
                "line": line,
                "name": name,
                "legendgroup": name,
                "showlegend": axis == "y",
                "hovertemplate": f"{name}<br>update %{{x:,}}<br>{what} <b>%{{y:{form}}}</b><extra></extra>",
            }
            traces.append(scatter(curve[:, 0], curve[:, 1], "lines", **look))
    losses = _loss_scale([replay for _, replay in runs])
    return figure_of(
        traces,
        460,
        x={**GRID, "title": "update", "rangemode": "tozero", "anchor": "y2"},
        y={**GRID, "title": "loss, nats a token", "domain": [0.46, 1], **losses},
        top=40,
        bottom=10,
        yaxis2={**GRID, "title": "exact match", "tickformat": ".0%", "range": [-0.03, 1.03], "domain": [0, 0.38]},
        uirevision="runs",  # what the user zoomed to stays while the curves grow
    )


def _loss_scale(replays: Sequence[TrainingReplay]) -> dict:
    """Return a logarithmic axis from tick to tick; Plotly's own would write 5 for 0.5, or have no tick at all."""
    losses = np.concatenate([replay.losses[:, 1] for replay in replays])
    lowest, highest = (losses.min(), losses.max()) if len(losses) else (1.0, 5.0)
    first = max(0, np.searchsorted(_LOSS_TICKS, lowest, side="right") - 1)
    last = min(len(_LOSS_TICKS) - 1, np.searchsorted(_LOSS_TICKS, highest))
    ticks = _LOSS_TICKS[first : last + 1]
    return {
        "type": "log",
        "range": [float(np.log10(ticks[0])) - 0.02, float(np.log10(ticks[-1])) + 0.02],
        "tickvals": ticks.tolist(),
        "ticktext": [f"{tick:.5f}".rstrip("0").rstrip(".") for tick in ticks],
    }


def learning_rate(
    translator: Translator, *, warmup: int = 4000, factor: float = 1.0, steps: int = 20_000, axes: str = "linear"
) -> go.Figure:
    """Draw the paper's learning rate (5.3) for the model's d_model over the first `steps` updates.

    It rises for `warmup` steps, and is multiplied by `factor`; `axes` are "linear" or "logarithmic". Raises ValueError
    for settings that cannot be.
    """
    if axes not in AXES or steps < 1:
        raise ValueError(f"axes of {', '.join(AXES)} and 1 step or more expected, got {axes!r} and {steps}")
    curve = Noam(translator.model.config.d_model, warmup, factor)
    return rates_figure([curve], [curve.rates(steps)], axes)


def padding(translator: Translator, pairs: TextPairs, *, budget: int = 512, seed: int = 1) -> go.Figure:
    """Draw the share of padding in every batch of `pairs` of source and target texts, batched by length and at random.

    `budget` is the most tokens of a batch, padding included; `seed` shuffles. Raises DataError where no pair fits the
    model.
    """
    config = translator.model.config
    examples = make_examples(pairs, translator.tokenizer, config.max_length)
    by_length = epoch_batches(examples, budget, 0.0, config.max_length, seed)
    both = dict(zip(WAYS, (by_length, random_batches(examples, budget, seed)), strict=True))
    ratios = {way: [count_padding(batch).ratio for batch in batches] for way, batches in both.items()}
    return ratios_figure(ratios, (WAYS[0], ratios[WAYS[0]][0]))


def shifted_target(trace: Trace) -> go.Figure:
    """Draw how the decoder's input is its target shifted right by one, with arrows from each target to that input."""
    traces, places = [], list(range(len(trace.target_tokens)))
    for row, name, tokens in ((1, "input", trace.decoder_input_tokens), (0, "target", trace.target_tokens)):
        labels, above = list(map(token_label, shown_tokens(tokens))), "top" if row else "bottom"
        texts = {"text": labels, "textposition": f"{above} center"}
        marker, hover = {"size": 12, "color": BLUE if row else OLIVE}, f"row %{{x}}, {name}: %{{text}}<extra></extra>"
        heights = [row] * len(tokens)
        traces.append(scatter(places, heights, "markers+text", marker=marker, hovertemplate=hover, **texts))
    arrow = {"showarrow": True, "arrowhead": 2, "arrowcolor": SOLID_GREY}
    arrows = [  # the target of row `place` is the input of the next one
        {"x": place + 1, "y": 0.93, "ax": place, "ay": 0.07, "axref": "x", "ayref": "y", **arrow}
        for place in places[:-1]
    ]
    x = {"tickvals": places, "ticktext": [str(place + 1) for place in places], "title": "row of the decoder"}
    y = {"tickvals": [1, 0], "ticktext": ["input", "target"], "range": [-0.5, 1.5]}
    return figure_of(traces, 260, x=x, y=y, annotations=arrows, showlegend=False)


PAD, END = 0, 1  # ids in the example's vocabulary, which begins with them

_TEXT = "<pad> </s> the dog sees a cat and it runs to an old tree by night"
WORDS = tuple(_TEXT.split())
MEASURES = ("cross-entropy", "KL divergence")
_LONGEST_EXAMPLE = 5  # words
_CONFIDENCES = np.concatenate([np.linspace(0.01, 0.99, 99), 1 - np.geomspace(0.009, 1e-6, 30)])
_DASHES = ("solid", "dash", "dashdot", "longdash", "dot")
_TOP = 3.0  # nats, more where a minimum lies higher: the loss grows without bound where p comes near 0


def example_target(classes: int) -> list[int]:
    """Return a target of words of a vocabulary of so many classes, its end, and a position of padding."""
    return [*range(2, min(classes, 2 + _LONGEST_EXAMPLE)), END, PAD]


def targets_figure(smoothing: Smoothing) -> go.Figure:
    """Draw the distribution that each position of the example is trained towards: positions by classes."""
    ids = example_target(smoothing.classes)
    table = smoothing.targets(ids, PAD)
    texts = [["" if id == PAD else short_mass(mass) for mass in row] for id, row in zip(ids, table, strict=True)]
    hover = [
        [_smoothing_hover(place, id, k, mass) for k, mass in enumerate(table[place])] for place, id in enumerate(ids)
    ]
    cells = Cells(np.where(np.array(ids)[:, None] == PAD, BLANK, table), hover, hover_blank=True)
    names, columns = tuple(WORDS[id] for id in ids), WORDS[: smoothing.classes]
    return heatmap_figure(
        Heatmap((cells,), names, columns, "position: its right class", "class", ROOM_OF_A_HALF, texts)
    )


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


def _smoothing_hover(place: int, right: int, k: int, mass: float) -> str:
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
    return targets_figure(Smoothing(SmoothingForm(form), epsilon, classes))


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
    return loss_figure(smoothings, epsilons[-1], measure)
