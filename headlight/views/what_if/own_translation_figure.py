"""How log P of a given translation and of the model's own adds up, token by token."""

import numpy as np
import plotly.graph_objects as go

from headlight.plots.layout import GRID, LEGEND_ABOVE, SMALLEST_LABEL, figure_of, integer_axis, scatter
from headlight.plots.palette import BLUE, BRIGHT_ORANGE
from headlight.plots.text import signed, token_label
from transformer.interpret.trace import Trace

_HEIGHT = 260  # pixels


def sums_figure(own: Trace, model: Trace) -> go.Figure:
    """Two lines from 0 down to log P of the whole; where one falls, a token was not expected."""
    traces = [
        _line(own, "your translation", BRIGHT_ORANGE, "circle"),
        _line(model, "the model's", BLUE, "square"),
    ]
    longest = max(len(own.next_ids), len(model.next_ids))
    font = {"size": SMALLEST_LABEL}
    x = {**integer_axis(longest + 1, "output tokens so far"), "tickfont": font}
    y = {**GRID, "title": "log P so far, nats", "tickfont": font}
    return figure_of(traces, _HEIGHT, x=x, y=y, legend={**LEGEND_ABOVE, "font": font})


def _line(trace: Trace, name: str, colour: str, symbol: str) -> dict:
    sums = np.concatenate([[0.0], trace.log_probabilities.cumsum()])
    tokens = [f"<br>after “{token_label(token)}”" for token in trace.next_tokens]
    hover = [f"{name}{token}: <b>{signed(value, 2)}</b>" for token, value in zip(["", *tokens], sums, strict=True)]
    look = {"line": {"color": colour}, "marker": {"color": colour, "symbol": symbol, "size": 8}}
    return scatter(list(range(len(sums))), sums, "lines+markers", name=name, hovertext=hover, hoverinfo="text", **look)
