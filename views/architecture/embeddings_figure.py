"""How a token enters the model: its row, times the root of d_model, plus its position; and its neighbours."""

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go

from plots.heatmap import Cells
from plots.layout import bar_beside, laid_out, row_bars, token_rows
from plots.palette import BLUE, diverging
from plots.text import signed, token_label


def sum_figure(row: np.ndarray, scaled: np.ndarray, position: np.ndarray, total: np.ndarray) -> go.Figure:
    """Four vectors below one another, a column a dimension, one colour scale around 0: [d_model] each."""
    names = ("row of the matrix", "× √d_model", "+ position", "= input of the stack")
    values = np.stack([row, scaled, position, total])
    scale = diverging(float(np.abs(values).max()))
    hover = [
        [f"{name}, dimension {k}: {value:.4f}" for k, value in enumerate(line, 1)]
        for name, line in zip(names, values, strict=True)
    ]
    figure = go.Figure(Cells(values, hover, scale, left=1).trace(bar_beside("", scale)).update(xgap=0, ygap=3))
    figure.update_yaxes(**token_rows(names))
    figure.update_xaxes(title="dimension")
    return laid_out(figure, 240, top=10)


def neighbours_figure(found: Sequence[tuple[int, float]], name: Callable[[int], str]) -> go.Figure:
    """The tokens of the largest cosines, with these."""
    tokens, cosines = [name(id) for id, _ in found], [cosine for _, cosine in found]
    hover = [f"{token_label(name(id))} (id {id}): cosine {cosine:.4f}" for id, cosine in found]
    figure = go.Figure(row_bars(cosines, hover, BLUE, texts=[signed(cosine, 3) for cosine in cosines]))
    figure.update_yaxes(**token_rows(tokens, grid=True))
    figure.update_xaxes(title="cosine with this token's row", range=[min(0.0, found[-1][1]), 1])
    return laid_out(figure, 80 + 26 * len(found), top=10)
