"""The most probable next tokens of two runs, with their probabilities side by side."""

from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go

from headlight.plots.layout import figure_of, row_bars, token_rows
from headlight.plots.palette import BLUE, BRIGHT_ORANGE
from headlight.plots.text import token_label

_OF_EACH = 3  # candidates of each run


def candidates_figure(old: np.ndarray, new: np.ndarray, name: Callable[[int], str]) -> go.Figure:
    """The first candidates of both runs, most probable before on top; `name` turns an id into the token's text."""
    ids = list(dict.fromkeys([*np.argsort(-old)[:_OF_EACH].tolist(), *np.argsort(-new)[:_OF_EACH].tolist()]))
    ids.sort(key=lambda id: -old[id])
    traces = []
    for title, probabilities, colour in (("unchanged", old, BLUE), ("changed", new, BRIGHT_ORANGE)):
        hover = [f"{token_label(name(id))} (id {id})<br>{title}: probability {probabilities[id]:.4f}" for id in ids]
        traces.append(row_bars([float(probabilities[id]) for id in ids], hover, colour, title))
    x = {"range": [0, 1], "tickformat": ".0%"}
    rows = token_rows([name(id) for id in ids])
    return figure_of(traces, 70 + 30 * len(ids), x=x, y=rows, barmode="group", bargap=0.3)
