"""Two candidates of a step held against each other: signed bars over source and prefix tokens, by two methods."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from headlight.plots.layout import SMALLEST_LABEL, figure_of, row_bars, titled, token_rows
from headlight.plots.palette import BLUE, FAINT_GREY
from headlight.plots.text import signed, token_label
from transformer.interpret.attribution import Attribution

GRADIENT, LEFT_OUT = "gradient × input", "leave-one-out"

_FOR, _AGAINST = "rgba(232, 113, 10, 0.8)", "rgba(31, 119, 224, 0.75)"
_GAP = 0.04  # between the panels, as a share of the width
_ROW, _LEAST_ROW, _ROOM = 22, 14, 420  # pixels: of a row, and of all rows as long as they stay readable


@dataclass(frozen=True, eq=False)
class Contrast:
    """Why the token `chosen` and not `other`: for each source and prefix token what it does for the one, positive, or
    the other, by gradient times input and by leaving it out. The prefix is the decoder's input up to the step.
    """

    chosen: str
    other: str
    source: Sequence[str]
    prefix: Sequence[str]
    gradient: Attribution
    left_out: Attribution

    def values(self) -> dict[str, np.ndarray]:
        """By each method all source tokens, then all of the prefix: [source + step + 1], NaN where there is none."""
        return {
            name: np.concatenate([found.source, found.prefix]).astype(np.float64)
            for name, found in ((GRADIENT, self.gradient), (LEFT_OUT, self.left_out))
        }


def contrast_figure(contrast: Contrast) -> go.Figure:
    """A panel for each method, a row a token, the source's above the prefix's; 0 is in the middle of a panel."""
    names = ["", *contrast.source, "", *contrast.prefix]
    place = len(contrast.source) + 1  # of the prefix's heading
    bars, axes = [], {}
    width = (1 + _GAP) / 2
    for number, (method, values) in enumerate(contrast.values().items()):
        suffix = "" if number == 0 else str(number + 1)
        spread = np.insert(values, [0, len(contrast.source)], np.nan)
        bars.append(_bars(method, spread, names, contrast) | {"xaxis": f"x{suffix}"})
        axes[f"xaxis{suffix}"] = _axis(method, values)
        axes[f"xaxis{suffix}"]["domain"] = [number * width, (number + 1) * width - _GAP]
    rows = {**token_rows(names), "tickfont": {"size": SMALLEST_LABEL}}
    rows["ticktext"][0], rows["ticktext"][place] = "<b>source</b>", "<b>prefix</b>"
    height = max(_LEAST_ROW, min(_ROW, _ROOM // len(names))) * len(names) + 55
    return figure_of(bars, height, y=rows, top=45, bottom=10, showlegend=False, **axes)


def _bars(method: str, values: np.ndarray, names: Sequence[str], contrast: Contrast) -> dict:
    against = values < 0
    hover = [_hover(method, name, float(value), contrast) for name, value in zip(names, values, strict=True)]
    pattern = {"shape": np.where(against, "/", "").tolist(), "fillmode": "overlay", "size": 5}
    colours = np.where(against, _AGAINST, _FOR).tolist()
    bars = row_bars(values.astype(np.float32), hover, BLUE)
    return bars | {"width": 0.78, "marker": {"color": colours, "opacity": 1, "pattern": pattern}}


def _hover(method: str, name: str, value: float, contrast: Contrast) -> str:
    if np.isnan(value):
        return ""
    side = contrast.chosen if value >= 0 else contrast.other
    return f"“{token_label(name)}”<br>{method} <b>{signed(value)}</b>, for “{token_label(side)}”"


def _axis(method: str, values: np.ndarray) -> dict:
    known = np.abs(values[np.isfinite(values)])
    limit = 1.08 * (float(known.max(initial=0.0)) or 1.0)
    title = {**titled(f"<b>{method}</b>", 4), "font": {"size": 13}}
    ticks = {"side": "top", "nticks": 5, "tickangle": 0, "tickfont": {"size": SMALLEST_LABEL}}
    lines = {"zeroline": True, "zerolinecolor": "rgb(128, 128, 128)", "gridcolor": FAINT_GREY}
    return {"range": [-limit, limit], "fixedrange": True, "title": title, **ticks, **lines}
