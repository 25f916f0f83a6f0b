"""Figures of training: learning rate, label smoothing, and two runs compared."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.config import TrainingConfig
from transformer.experiments.training import Smoothing
from transformer.training import TrainingReplay, learning_rate, noam_rate

from .layout import GRID, LEFT, Theme, figure_of, percent_axis, scatter
from .palette import OLIVE, SERIES_COLOURS, SERIES_SYMBOLS

PAPER = 512, 4000  # d_model and warm-up of the paper's base model
CURVE_POINTS = 400
_HEIGHT = 310  # pixels of a recipe's figure
_LOSS_TICKS = np.array([float(f"{first}e{power}") for power in range(-5, 3) for first in (1, 2, 5)])
_HOVER = "{}<br>step %{{x:,}}<br>rate <b>%{{y:.{}~g}}</b><extra></extra>"  # name, and digits of the rate


def learning_rates(
    settings: TrainingConfig, d_model: int, recorded: Sequence[tuple[int, float]], *, theme: Theme = "paper"
) -> go.Figure:
    """Draw a checkpoint's learning rate beside the paper's; `recorded` has the (step, rate) pairs of its run."""
    last, warmup = settings.max_steps, PAPER[1]
    cooling, shown = last - settings.cooldown_steps, max(last, 3 * warmup)
    trained = _some_steps(last, settings.warmup_steps, cooling, cooling + 1)
    paper = _some_steps(shown, warmup)
    curves = (
        ("this checkpoint", trained, [learning_rate(int(step), d_model, settings) for step in trained], OLIVE, "solid"),
        ("the paper's base model", paper, [noam_rate(int(step), *PAPER) for step in paper], SERIES_COLOURS[0], "dash"),
    )
    traces = []
    for name, steps, values, colour, dash in curves:
        line, hover = {"color": colour, "width": 2.5, "dash": dash}, _HOVER.format(name, 4)
        traces.append(scatter(steps.astype(np.int32), values, "lines", line=line, name=name, hovertemplate=hover))
    if recorded:
        look = {
            "marker": {"color": OLIVE, "symbol": "diamond", "size": 9},
            "name": "recorded in training",
            "cliponaxis": False,
            "hovertemplate": _HOVER.format("recorded in training", 6),
        }
        traces.append(scatter([step for step, _ in recorded], [rate for _, rate in recorded], "markers", **look))
    highest = max(max(values) for _, _, values, _, _ in curves)
    x = {**GRID, "range": [0, shown], "title": "step", "tickformat": ",d"}
    y = {**GRID, "range": [0, 1.12 * highest], "title": "learning rate", "tickformat": "~g"}
    return figure_of(traces, _HEIGHT, theme=theme, x=x, y=y, top=10, bottom=10, showlegend=True, hoverlabel=LEFT)


def _some_steps(last_step: int, *required: int) -> np.ndarray:
    """Return some of the steps from 1 to `last_step`, in order, the `required` ones among them."""
    evenly = np.linspace(1, last_step, CURVE_POINTS)
    inside = [step for step in required if 1 <= step <= last_step]
    return np.unique(np.concatenate([evenly, inside]).round().astype(np.int64))


def training_runs(runs: Sequence[tuple[str, TrainingReplay]], *, theme: Theme = "paper") -> go.Figure:
    """Draw each run, a name and a replay: the training loss above, on a logarithmic axis, the exact match below."""
    traces = []
    for number, (name, replay) in enumerate(runs):
        line = {"color": SERIES_COLOURS[number], "width": 2.5, "dash": _DASHES[number % 2]}
        curves = ("y", replay.losses, "loss", ".3f"), ("y2", replay.scores, "exact match", ".1%")
        for axis, curve, measure, form in curves:
            look = {
                "yaxis": axis,
                "line": line,
                "name": name,
                "legendgroup": name,
                "showlegend": axis == "y",
                "hovertemplate": f"{name}<br>update %{{x:,}}<br>{measure} <b>%{{y:{form}}}</b><extra></extra>",
            }
            traces.append(scatter(curve[:, 0], curve[:, 1], "lines", **look))
    losses = _loss_scale([replay for _, replay in runs])
    return figure_of(
        traces,
        460,
        theme=theme,
        x={**GRID, "title": "update", "rangemode": "tozero", "anchor": "y2"},
        y={**GRID, "title": "loss, nats per token", "domain": [0.46, 1], **losses},
        top=40,
        bottom=10,
        yaxis2=GRID | percent_axis(1.0, "exact match") | {"range": [-0.03, 1.03], "domain": [0, 0.38]},
        uirevision="runs",  # the zoom stays while the curves grow
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


_CONFIDENCES = np.concatenate([np.linspace(0.01, 0.99, 99), 1 - np.geomspace(0.009, 1e-6, 30)])
_DASHES = ("solid", "dash", "dashdot", "longdash", "dot")
_TOP = 3.0  # nats, more where a minimum lies higher: the loss grows without bound where p comes near 0


def smoothed_loss(smoothings: Sequence[Smoothing], chosen: float, *, theme: Theme = "paper") -> go.Figure:
    """Draw the label-smoothed loss (paper, 5.4) over the probability of the right token, a curve per epsilon.

    The minima are marked; the curve of the epsilon `chosen` is thicker. `smoothings`: of
    `transformer.experiments.training.Smoothing`.
    """
    traces, top = [], _TOP
    for number, smoothing in enumerate(smoothings):
        best, least = smoothing.right, smoothing.entropy
        top = max(top, 1.5 * least)
        name, width = f"ε {smoothing.epsilon:g}", 4 if smoothing.epsilon == chosen else 2
        hover = f"{name}<br>p = %{{x:.1%}}<br>loss <b>%{{y:.4f}}</b> nats<extra></extra>"
        line = {"color": SERIES_COLOURS[number], "dash": _DASHES[number], "width": width}
        look = {"line": line, "legendgroup": name}
        losses = np.array([smoothing.cross_entropy(p) for p in _CONFIDENCES], dtype=np.float32)
        traces.append(scatter(_CONFIDENCES, losses, "lines", showlegend=False, hovertemplate=hover, **look))
        minimum = {
            "marker": {"color": SERIES_COLOURS[number], "symbol": SERIES_SYMBOLS[number], "size": 12},
            "name": f"{name}: least {least:.3f} at {100 * best:.1f} %",
            "cliponaxis": False,
            "hovertemplate": f"least loss, {hover}",
        }
        # A single point has no line, but its entry in the legend does.
        traces.append(scatter([best], [least], "lines+markers", **minimum, **look))
    x = GRID | percent_axis(1.0, "probability of the right token")
    y = {**GRID, "title": "loss, nats", "range": [0, top]}
    return figure_of(traces, _HEIGHT, theme=theme, x=x, y=y, top=10, bottom=10, showlegend=True, hoverlabel=LEFT)
