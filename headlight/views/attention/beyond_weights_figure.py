"""Four measures of the same source tokens for one target token: bars side by side, and their rank correlations."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from headlight.plots.layout import SMALLEST_LABEL, figure_of, row_bars, titled, token_rows
from headlight.plots.palette import BLUE, FAINT_GREY
from headlight.plots.text import signed, token_label
from transformer.interpret.attribution import rank_correlation

RAW, NORMED, GRADIENT, LEFT_OUT = "raw weight", "norm-weighted", "gradient × input", "leave-one-out"
MEASURES = (RAW, NORMED, GRADIENT, LEFT_OUT)
SIGNED = (GRADIENT, LEFT_OUT)  # the others are shares from 0 to 1
FEWEST = 3  # tokens whose ranks can be compared

_BLUE, _ORANGE = "rgba(31, 119, 224, 0.75)", "rgba(232, 113, 10, 0.8)"
_HEADS = {
    RAW: "raw<br>weight",
    NORMED: "norm-<br>weighted",
    GRADIENT: "gradient<br>× input",
    LEFT_OUT: "leave-<br>one-out",
}
_WORDS = {
    RAW: "weight <b>{value:.4f}</b>",
    NORMED: "share of the norms of the weighted values <b>{value:.4f}</b>",
    GRADIENT: "gradient × input <b>{value:+.4f}</b>",
    LEFT_OUT: "without it log P is <b>{change}</b>",
}
_GAP = 0.03  # between the panels, as a share of the width
_ROW, _LEAST_ROW = 24, 13  # pixels
_ROOM = 1000  # pixels for the rows of a long sentence, as long as they stay readable


def measures_figure(values: dict[str, np.ndarray], tokens: Sequence[str]) -> go.Figure:
    """A panel for each of MEASURES, a bar a source token, from top to bottom: values [source] each.

    Each panel has its own scale, labelled above. Where values have a sign, bars to the right, for the target token, are
    orange, those to the left, against it, blue and hatched; values without a sign are plain blue. A token that cannot
    be left out has no bar.
    """
    height = max(_LEAST_ROW, min(_ROW, _ROOM // len(tokens)))
    width = (1 + _GAP) / len(MEASURES)
    bars, axes = [], {}
    for place, name in enumerate(MEASURES):
        number = "" if place == 0 else str(place + 1)
        bars.append(_bars(name, values[name], tokens, f"x{number}"))
        axes[f"xaxis{number}"] = _axis(values[name], name in SIGNED) | {
            "domain": [place * width, (place + 1) * width - _GAP],
            "title": {**titled(_HEADS[name], 6), "font": {"size": 13}},
        }
    rows = {**token_rows(tokens), "tickfont": {"size": SMALLEST_LABEL}}
    return figure_of(bars, height * len(tokens) + 100, y=rows, top=70, bottom=10, showlegend=False, **axes)


def correlations(values: dict[str, np.ndarray]) -> np.ndarray:
    """Spearman's rank correlation of the sizes, signs aside, of each two of MEASURES: [4, 4]; NaN where too few."""
    sizes = [np.abs(values[name]) for name in MEASURES]
    return np.array([[rank_correlation(one, other) for other in sizes] for one in sizes])


def correlation_rows(found: np.ndarray) -> list[tuple[str, list[str]]]:
    """The table's rows under one another, each pair once; "–" where there are too few tokens to compare."""
    cells = [["–" if np.isnan(value) else signed(value, 2) for value in line] for line in found]
    last = len(MEASURES) - 1
    return [(MEASURES[row], cells[row][:row] + [""] * (last - row)) for row in range(1, last + 1)]


def _bars(name: str, values: np.ndarray, tokens: Sequence[str], axis: str) -> dict:
    against = values < 0
    pattern = {"shape": np.where(against, "/", "").tolist(), "fillmode": "overlay", "size": 5}
    hover = [_hover(name, token, float(value)) for token, value in zip(tokens, values, strict=True)]
    bars = row_bars(values.astype(np.float32), hover, BLUE)
    colours = np.where((values > 0) & (name in SIGNED), _ORANGE, _BLUE).tolist()
    return bars | {"xaxis": axis, "width": 0.78, "marker": {"color": colours, "opacity": 1, "pattern": pattern}}


def _hover(name: str, token: str, value: float) -> str:
    if np.isnan(value):
        return ""
    change = f"{abs(value):.4f} {'lower' if value >= 0 else 'higher'}"
    return f"“{token_label(token)}”<br>{_WORDS[name].format(value=value, change=change)}"


def _axis(values: np.ndarray, signed: bool) -> dict:
    """From 0 to the largest, or as far to both sides as the bars go, so that every panel has 0 in sight."""
    known = values[np.isfinite(values)]
    most, least = (float(known.max()), float(known.min())) if len(known) else (1.0, 0.0)
    most, least = max(most, 0.0), min(least, 0.0) if signed else 0.0
    room = 0.06 * (most - least) or 1.0
    ends = [least - room if least < 0 else 0.0, most + room]
    ticks = {"side": "top", "nticks": 3, "tickangle": 0, "tickfont": {"size": SMALLEST_LABEL}}
    lines = {"zeroline": True, "zerolinecolor": "rgb(128, 128, 128)", "gridcolor": FAINT_GREY}
    return {"range": ends, "fixedrange": True, **ticks, **lines}
