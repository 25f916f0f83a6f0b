"""Shares of source and prefix in each output token as stacked bars: ALTI+ beside attention rollout."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from headlight.plots.layout import GRID, LEGEND_ABOVE, SMALLEST_LABEL, bars, figure_of, scatter, token_axis
from headlight.plots.palette import GREY
from headlight.plots.text import token_label
from transformer.interpret.trace import SPECIAL_TOKENS

_BLUE, _ORANGE = "rgba(31, 119, 224, {})", "rgba(232, 113, 10, {})"
_HEIGHT = 290  # pixels
_WIDTH = 0.4  # of a bar; a token has 1


@dataclass(frozen=True, eq=False)
class SourceShares:
    """The source's share of each output token, [target]: by ALTI+ and by rollout; the prefix has the rest of 1.

    usual: the mean by ALTI+ over sentence pairs, None where it is not known. The first `num_forced` tokens are forced,
    and count in no mean and no comparison.
    """

    tokens: Sequence[str]
    alti: np.ndarray
    rollout: np.ndarray
    usual: float | None = None
    num_forced: int = 0

    @property
    def mean_alti(self) -> float:
        """The mean share by ALTI+."""
        return float(self.alti[self.num_forced :].mean())

    @property
    def mean_rollout(self) -> float:
        """The mean share by rollout."""
        return float(self.rollout[self.num_forced :].mean())

    @property
    def least(self) -> int:
        """The output token of the lowest share by ALTI+."""
        return self.num_forced + int(self.alti[self.num_forced :].argmin())

    @property
    def most(self) -> int:
        """The output token of the highest share by ALTI+."""
        return self.num_forced + int(self.alti[self.num_forced :].argmax())

    @property
    def least_word(self) -> int:
        """The same of the tokens with letters, if there are any: a word tells more than the end of a sentence."""
        words = [place for place in range(self.num_forced, len(self.tokens)) if _is_word(self.tokens[place])]
        return min(words, key=lambda place: self.alti[place]) if words else self.least


def shares_figure(shares: SourceShares, chosen: int) -> go.Figure:
    """Two stacked bars a token, the source below; a frame around the chosen token, lines at the means."""
    traces = [
        *_stack(shares.tokens, shares.alti, "ALTI+", -_WIDTH - 0.01, 0.85),
        *_stack(shares.tokens, shares.rollout, "rollout", 0.01, 0.4),
    ]
    ends = [-0.5, len(shares.tokens) - 0.5]
    for value, name, dash in (
        (shares.mean_alti, "mean of this sentence", "solid"),
        (shares.usual, "mean over sentence pairs", "dot"),
    ):
        if value is not None:
            look = {"line": {"color": GREY, "dash": dash, "width": 2}, "hoverinfo": "skip"}
            traces.append(scatter(ends, [value, value], "lines", name=f"{name}, ALTI+: {value:.2f}", **look))
    frame = {"type": "rect", "x0": chosen - 0.47, "x1": chosen + 0.47, "y0": 0, "y1": 1, "line": {"color": GREY}}
    slanted = {"autotickangles": [0, -60]}  # where upright labels would run into one another
    x = {**token_axis(shares.tokens), "range": ends, "tickfont": {"size": SMALLEST_LABEL}, **slanted}
    y = {**GRID, "range": [0, 1.01], "title": "share", "tickfont": {"size": SMALLEST_LABEL}, "dtick": 0.25}
    legend = {**LEGEND_ABOVE, "font": {"size": SMALLEST_LABEL}}
    return figure_of(traces, _HEIGHT, x=x, y=y, bottom=30, legend=legend, shapes=[frame], barmode="overlay")


def _is_word(token: str) -> bool:
    return token not in SPECIAL_TOKENS and any(map(str.isalpha, token))


def _stack(tokens: Sequence[str], source: np.ndarray, method: str, offset: float, opacity: float) -> list[dict]:
    """The source's bars, and the prefix's on top of them, hatched: told apart without colours too."""
    found = []
    for part, colour, shape, values, base in (
        ("source", _BLUE, "", source, np.zeros_like(source)),
        ("prefix", _ORANGE, "/", 1 - source, source),
    ):
        hover = [
            f"Output token {place}, “{token_label(token)}”<br>{part} by {method}: <b>{value:.3f}</b>"
            for place, (token, value) in enumerate(zip(tokens, values, strict=True), start=1)
        ]
        pattern = {"shape": shape, "fillmode": "overlay", "size": 5}
        marker = {"color": colour.format(opacity), "pattern": pattern}
        place = {"base": base.astype(np.float32), "offset": offset, "width": _WIDTH}
        look = {"marker": marker, "name": f"{part}, {method}", "hovertext": hover, "hoverinfo": "text"}
        found.append(bars(list(range(len(tokens))), values.astype(np.float32), **place, **look))
    return found
