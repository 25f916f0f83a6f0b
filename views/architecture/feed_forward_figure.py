"""Hidden units of a feed-forward: the strongest of one token, and the most active ones across the sentence."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from plots.heatmap import Cells
from plots.layout import bar_beside, laid_out, token_axis, token_rows
from plots.palette import BLUE, WEIGHT_SCALE, Scale
from plots.text import token_label

SHOWN = 24  # units that are drawn


def units_figure(units: np.ndarray) -> go.Figure:
    """One token's strongest units: [d_ff], after ReLU."""
    order = np.argsort(-units, kind="stable")[: min(SHOWN, int((units > 0).sum()))]
    places, marker = list(range(len(order))), {"color": BLUE, "opacity": 0.75}
    hover = [f"unit {unit + 1}: {units[unit]:.4f}" for unit in order]
    figure = go.Figure(go.Bar(x=places, y=units[order], marker=marker, hovertext=hover, hoverinfo="text"))
    figure.update_yaxes(title="after ReLU")
    return _named(figure, order, 300)


def sentence_figure(units: np.ndarray, tokens: Sequence[str]) -> go.Figure:
    """The units with the largest sum over the sentence, tokens by units: [tokens, d_ff]; 0 stays blank."""
    order = np.argsort(-units.sum(axis=0), kind="stable")[:SHOWN]
    values = units[:, order]
    hover = [
        [f"{token_label(token)}, unit {unit + 1}: {value:.4f}" for unit, value in zip(order, line, strict=True)]
        for token, line in zip(tokens, values, strict=True)
    ]
    scale = Scale(WEIGHT_SCALE, 0.0, float(values.max()) or 1.0, ticks=None)
    cells = Cells(np.where(values > 0, values, np.nan), hover, scale)
    figure = go.Figure(cells.trace(bar_beside("", scale), gap=2))
    figure.update_yaxes(**token_rows(tokens))
    return _named(figure, order, 110 + 26 * len(tokens))


def _named(figure: go.Figure, order: np.ndarray, height: int) -> go.Figure:
    figure.update_xaxes(**token_axis([str(unit + 1) for unit in order]), title="hidden unit")
    return laid_out(figure, height, top=10, bottom=60)
