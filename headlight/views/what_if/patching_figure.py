"""The patching map: layers by positions or heads, coloured and labelled by the restored share."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from headlight.plots.heatmap import Cells
from headlight.plots.layout import SMALLEST_LABEL, bar_below, digits_in_cells, figure_of, titled, token_axis, token_rows
from headlight.plots.palette import diverging
from headlight.plots.text import token_label

_SCALE = diverging(1.0, 0.72)  # digits stand on the cells
_ROW, _LEAST_ROW, _ROOM = 54, 24, 420  # pixels
_MOST_WITH_DIGITS, _MOST_UPRIGHT = 20, 9  # columns
_OUTLINE = {"color": "rgb(128, 128, 128)", "width": 3}


def patching_figure(
    shares: np.ndarray, rows: Sequence[str], columns: Sequence[str], column_name: str, chosen: tuple[int, int]
) -> go.Figure:
    """shares: [rows, columns], NaN is blank; `chosen` is outlined."""
    names = list(map(token_label, columns))
    hover = [
        [f"{row}, {column}<br>restored share <b>{share:.4f}</b>" for column, share in zip(names, line, strict=True)]
        for row, line in zip(rows, shares.tolist(), strict=True)
    ]
    cells = Cells(shares, hover, _SCALE, "restored share of the logit difference")
    traces = [cells.trace(bar_below(cells.bar, _SCALE, length=260), gap=2)]
    if len(columns) <= _MOST_WITH_DIGITS:
        traces.append(digits_in_cells(shares))
    height = max(_LEAST_ROW, min(_ROW, _ROOM // len(rows)))
    upright = len(columns) <= _MOST_UPRIGHT
    font = {"tickfont": {"size": SMALLEST_LABEL}}
    x = token_axis(columns) | font | {"side": "top", "tickangle": 0 if upright else -60, "title": titled(column_name)}
    if upright:
        x["ticktext"] = [label.replace("|", "|<br>") for label in x["ticktext"]]
    y = token_rows(rows) | font
    row, column = chosen
    left, top = column - 0.5, row - 0.5
    outline = {"type": "rect", "x0": left, "x1": left + 1, "y0": top, "y1": top + 1, "line": _OUTLINE}
    look = {"legend": None, "showlegend": False, "shapes": [outline]}
    return figure_of(traces, height * len(rows) + 125, x=x, y=y, top=10, bottom=60, **look)
