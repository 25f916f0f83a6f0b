"""Learned positions drawn: the table of a side, and the cosines of its rows."""

import numpy as np
import plotly.graph_objects as go

from headlight.plots.heatmap import Cells
from headlight.plots.layout import bar_below, figure_of, integer_axis, integer_rows
from headlight.plots.palette import diverging
from transformer.arrays import cosine


def table_figure(table: np.ndarray) -> go.Figure:
    """The table [length, d_model]: rows are positions from top to bottom, columns dimensions, colours around 0."""
    scale = diverging(float(np.abs(table).max()))
    cells = Cells(table, "position %{y}<br>dimension %{x}<br>value <b>%{z:.4f}</b>", scale)
    x = {**integer_axis(table.shape[1], "dimension"), "side": "top"}
    y = integer_rows(len(table), "position")
    return figure_of([cells.trace(bar_below("value", scale, length=220))], 480, x=x, y=y, top=10, bottom=60)


def similarity_figure(table: np.ndarray) -> go.Figure:
    """The cosine of every two rows of a table [length, d_model], from -1 to 1: [length, length]."""
    scale = diverging(1.0)
    cosines = np.stack([cosine(table, row) for row in table]).astype(np.float32)
    cells = Cells(cosines, "p = %{y}, q = %{x}<br>cosine <b>%{z:.3f}</b>", scale)
    x = {**integer_axis(len(table), "position q"), "side": "top", "constrain": "domain"}
    square = {"scaleanchor": "x", "constrain": "domain", "constraintoward": "top"}
    y = {**integer_rows(len(table), "position p"), **square}
    return figure_of([cells.trace(bar_below("cosine", scale, length=220))], 440, x=x, y=y, top=10, bottom=60)
