"""The learning rate over the steps of training: Noam curves side by side, and the one a checkpoint was trained with."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from headlight.plots.layout import GRID, figure_of, scatter
from headlight.plots.palette import MODEL_COLOUR, SERIES_COLOURS, SERIES_SYMBOLS
from headlight.plots.text import scientific
from transformer.config import TrainingConfig
from transformer.training.optimization import Noam, learning_rate

from .learning_rate_content import PAPER

AXES = ("linear", "logarithmic")
CURVE_POINTS = 240  # of each way of thinning, evenly and by ratio
_DASHES = ("solid", "dash", "dashdot", "longdash")
_HOVER = "{}<br>step %{{x:,}}<br>rate <b>%{{y:.{}~g}}</b><extra></extra>"  # of what, and digits of the rate


def thinned(last_step: int, *kept: int) -> np.ndarray:
    """Some of the steps from 1 to `last_step`, close enough for either kind of axis, and the `kept` among them."""
    evenly = np.linspace(1, last_step, CURVE_POINTS)
    by_ratio = np.geomspace(1, last_step, CURVE_POINTS)
    inside = [step for step in kept if 1 <= step <= last_step]
    return np.unique(np.concatenate([evenly, by_ratio, inside]).round().astype(np.int64))


def rates_figure(curves: Sequence[Noam], rates: Sequence[np.ndarray], axes: str) -> go.Figure:
    """Each curve with its peak marked; `rates`: of each curve, that of every step from 1 on, all as many.

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
    """A checkpoint's rate by step beside the paper's, with dots for `recorded`: (step, rate) pairs its run wrote."""
    last = settings.max_steps
    cooling = last - settings.cooldown_steps
    steps = thinned(last, settings.warmup_steps, cooling, cooling + 1)
    own = np.array([learning_rate(int(step), d_model, settings) for step in steps])
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
        steps, rates = [step for step, _ in recorded], [rate for _, rate in recorded]
        traces.append(scatter(steps, rates, "markers", **look))
    return _with_axes(traces, last, float(max(own.max(), paper.max())), axes)


def _with_axes(traces: list[dict], last_step: int, highest: float, axes: str) -> go.Figure:
    """One look for both; the legend stands above, one entry a line on a phone, so the height grows with it."""
    logarithmic = axes == "logarithmic"
    x = {"type": "log", "range": [0, np.log10(last_step)], "dtick": 1} if logarithmic else {"range": [0, last_step]}
    y = {"type": "log", "dtick": 1} if logarithmic else {"range": [0, 1.12 * highest]}
    x = {**GRID, **x, "title": "step", "tickformat": ",d"}
    y = {**GRID, **y, "title": "rate", "exponentformat": "power"}
    look = {"showlegend": True, "hoverlabel": {"align": "left"}}
    return figure_of(traces, 400, x=x, y=y, top=10, bottom=10, **look)
