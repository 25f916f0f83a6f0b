"""All heads of a kind in one picture: layers from top to bottom, heads from left to right."""

import numpy as np
import plotly.graph_objects as go

from .style import WEIGHT_SCALE, token_label

MOST_CELLS_WITH_HOVER = 40_000  # hover texts beyond this would weigh more than the maps themselves


def overview_figure(
    maps: np.ndarray,
    queries: tuple[str, ...],
    keys: tuple[str, ...],
) -> go.Figure:
    """Thumbnails of maps [layers, heads, queries, keys], masked cells NaN.

    One heatmap with blank gutters: a browser draws it several times faster than one subplot a head.
    """
    layers, heads, rows, columns = maps.shape
    gap_y, gap_x = max(1, round(rows * 0.12)), max(1, round(columns * 0.12))
    step_y, step_x = rows + gap_y, columns + gap_x
    canvas = np.full((layers * step_y - gap_y, heads * step_x - gap_x), np.nan, dtype=np.float32)
    for layer in range(layers):
        for head in range(heads):
            top, left = layer * step_y, head * step_x
            canvas[top : top + rows, left : left + columns] = maps[layer, head]
    hover = maps.size <= MOST_CELLS_WITH_HOVER
    figure = go.Figure(
        go.Heatmap(
            z=canvas,
            zmin=0,
            zmax=1,
            colorscale=WEIGHT_SCALE,
            showscale=False,
            hovertext=_hover_texts(maps, queries, keys, canvas.shape, (step_y, step_x)) if hover else None,
            hoverinfo="text" if hover else "skip",
            hoverongaps=False,
        )
    )
    # One path for all frames: a shape a head takes Plotly several times longer, here and in the browser.
    frames = (_frame(layer * step_y, head * step_x, rows, columns) for layer, head in np.ndindex(layers, heads))
    line = {"width": 1, "color": "rgba(128,128,128,0.5)"}
    figure.update_layout(shapes=[{"type": "path", "path": " ".join(frames), "line": line}])
    figure.update_xaxes(
        **_axis("head", heads, step_x, columns), side="top", range=[-gap_x, heads * step_x - gap_x + gap_x / 2]
    )
    figure.update_yaxes(
        **_axis("layer", layers, step_y, rows), range=[layers * step_y - gap_y + gap_y / 2, -gap_y / 2 - 0.5]
    )
    width_of_one = min(130, max(40, 1000 / heads))
    figure.update_layout(
        height=round(layers * width_of_one * min(2.0, max(0.6, rows / columns)) + 70),
        margin={"l": 10, "r": 10, "t": 40, "b": 10},
    )
    return figure


def _axis(name: str, count: int, step: int, size: int) -> dict:
    return {
        "tickvals": [index * step + (size - 1) / 2 for index in range(count)],
        "ticktext": [str(index + 1) for index in range(count)],
        "title": {"text": name, "standoff": 14},
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
    }


def _frame(top: int, left: int, rows: int, columns: int) -> str:
    """The border of one thumbnail as an SVG path in the figure's coordinates."""
    x0, x1, y0, y1 = left - 0.5, left + columns - 0.5, top - 0.5, top + rows - 0.5
    return f"M{x0},{y0} L{x1},{y0} L{x1},{y1} L{x0},{y1} Z"


def _hover_texts(
    maps: np.ndarray, queries: tuple[str, ...], keys: tuple[str, ...], shape: tuple[int, int], steps: tuple[int, int]
) -> np.ndarray:
    """For each cell of the canvas: which head, which row reads which key, with what weight."""
    names = [[f"row “{token_label(q)}” reads “{token_label(k)}”" for k in keys] for q in queries]
    texts = np.full(shape, "", dtype=object)
    for layer, head, row, column in np.ndindex(maps.shape):
        weight = maps[layer, head, row, column]
        texts[layer * steps[0] + row, head * steps[1] + column] = (
            f"Layer {layer + 1}, head {head + 1}<br>{names[row][column]} with weight {weight:.4f}"
        )
    return texts
