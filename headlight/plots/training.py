"""Figure of training: two runs compared."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from headlight.language import texts_beside
from transformer.training import TrainingReplay

from .layout import GRID, Theme, figure_of, percent_axis, scatter
from .palette import SERIES_COLOURS

_text = texts_beside(__file__)
_DASHES = ("solid", "dash")
_LOSS_TICKS = np.array([float(f"{first}e{power}") for power in range(-5, 3) for first in (1, 2, 5)])


def training_runs(runs: Sequence[tuple[str, TrainingReplay]], *, theme: Theme = "paper") -> go.Figure:
    """Draw each run, a name and a replay: the training loss above, on a logarithmic axis, the exact match below."""
    traces = []
    for number, (name, replay) in enumerate(runs):
        line = {"color": SERIES_COLOURS[number], "width": 2.5, "dash": _DASHES[number % 2]}
        for axis, curve, measure in (("y", replay.losses, "loss"), ("y2", replay.scores, "exact_match")):
            look = {
                "yaxis": axis,
                "line": line,
                "name": name,
                "legendgroup": name,
                "showlegend": axis == "y",
                "hovertemplate": _text(f"{measure}_hover", name=name),
            }
            traces.append(scatter(curve[:, 0], curve[:, 1], "lines", **look))
    losses = _loss_scale([replay for _, replay in runs])
    return figure_of(
        traces,
        460,
        theme=theme,
        x={**GRID, "title": _text("update"), "rangemode": "tozero", "anchor": "y2"},
        y={**GRID, "title": _text("loss"), "domain": [0.46, 1], **losses},
        top=40,
        bottom=10,
        yaxis2=GRID | percent_axis(1.0, _text("exact_match")) | {"range": [-0.03, 1.03], "domain": [0, 0.38]},
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
