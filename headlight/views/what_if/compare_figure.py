"""The difference of two maps of one head, and of all heads how much they differ."""

import numpy as np
import plotly.graph_objects as go

from headlight.plots.heatmap import BLANK, Cells, Heatmap, axis_names, heatmap_figure, hover_texts
from headlight.plots.layout import SMALLEST_LABEL, bar_beside, figure_of, integer_axis, integer_rows
from headlight.plots.palette import WEIGHT_SCALE, Scale, diverging
from headlight.plots.text import signed, token_label
from transformer.interpret.trace import AttentionMap
from transformer.interpret.what_if.difference import MapDifference


def difference_figure(difference: MapDifference, first: AttentionMap, second: AttentionMap, side: int) -> go.Figure:
    """One head's weights in the second run minus those in the first, where both have the row and the column.

    A token that is another in the second run stands beside the first's: "teacher | teachers". Masked cells are blank.
    """
    values = np.array(difference.values[first.layer, first.head], dtype=np.float64)
    for row, (one, other) in enumerate(difference.rows):
        for column, (left, right) in enumerate(difference.columns):
            if np.isnan(first.weights[one, left]) or np.isnan(second.weights[other, right]):
                values[row, column] = BLANK
    rows = [both(first.queries[one], second.queries[other]) for one, other in difference.rows]
    keys = [both(first.keys[one], second.keys[other]) for one, other in difference.columns]
    hover = hover_texts(
        [token_label(row) for row in rows], keys, [[f"<b>{signed(value)}</b>" for value in line] for line in values]
    )
    limit = max(0.01, float(np.nanmax(np.abs(values))))
    cells = Cells(values, hover, diverging(limit, 0.72), "difference")
    texts = [["" if np.isnan(value) else short(value) for value in line] for line in values]
    names = axis_names(first.kind, first.row_label)
    return heatmap_figure(Heatmap((cells,), tuple(rows), tuple(keys), *names, side, texts).within(side))


def distances_figure(difference: MapDifference) -> go.Figure:
    """Layers by heads: half the sum of a row's absolute differences, the mean over its rows, from 0 to 1."""
    distances = difference.distances()
    layers, heads = distances.shape
    hover = [
        [f"layer {layer + 1}, head {head + 1}: <b>{distances[layer, head]:.3f}</b>" for head in range(heads)]
        for layer in range(layers)
    ]
    scale = Scale(WEIGHT_SCALE, 0.0, max(0.01, float(distances.max())), ticks=None)
    cells = Cells(distances, hover, scale, "differs by")
    trace = cells.trace(bar_beside("differs by", scale), gap=2) | {"x0": 1, "y0": 1, "dy": 1}
    rows, columns = integer_rows(layers, "layer"), integer_axis(heads, "head")
    rows |= {"range": [layers + 0.5, 0.5], "tickfont": {"size": SMALLEST_LABEL}}
    columns |= {"range": [0.5, heads + 0.5], "tickfont": {"size": SMALLEST_LABEL}}
    return figure_of([trace], 90 + 34 * layers, x=columns, y=rows, legend=None, top=10)


def both(first: str, second: str) -> str:
    """A token, or both where they differ."""
    return first if first == second else f"{first} | {second}"


def short(value: float) -> str:
    """A difference of two digits without its zero: ".12", "−.30"; "" for what rounds to nothing."""
    return "" if abs(value) < 0.005 else signed(value, 2).replace("0.", ".", 1)
