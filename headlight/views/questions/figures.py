"""The small figures that only the page of questions has."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from headlight.plots.heatmap import Cells
from headlight.plots.layout import bars, figure_of, scatter, titled, token_axis
from headlight.plots.palette import BLUE, MIDDLE_GREY, ORANGE
from headlight.plots.text import token_label
from transformer.experiments.fully_masked_rows import FullyMaskedRow
from transformer.experiments.parallel_vs_cached import Comparison

MOST_CELLS_WITH_HOVER = 40_000  # hover texts beyond this would weigh more than the maps themselves
_HEIGHT = 300  # pixels


def share_of_parameters_figure(counts: Mapping[int, int], own: int) -> go.Figure:
    """Parameters by d_model, the loaded model's own width in orange."""
    marker = {"color": [ORANGE if width == own else BLUE for width in counts], "opacity": 0.75}
    texts = [f"{count / 1e6:.1f} M" for count in counts.values()]
    look = {"text": texts, "marker": marker, "hovertemplate": "d_model %{x}: %{y:,} parameters<extra></extra>"}
    traces = [bars([str(width) for width in counts], list(counts.values()), **look)]
    return figure_of(traces, _HEIGHT, x={"title": "d_model", "type": "category"}, y={"title": "parameters"})


def fully_masked_row_figure(row: FullyMaskedRow, keys: Sequence[str]) -> go.Figure:
    """The weights of a fully masked row: −1e9 and the fused kernel; −∞ has no numbers to draw."""
    traces = []
    for name, values, colour in (("−1e9", row.with_large_number, ORANGE), ("fused kernel", row.fused, BLUE)):
        hover, marker = f"{name}: %{{y:.4f}}<extra></extra>", {"color": colour, "opacity": 0.75}
        places, texts = list(range(len(keys))), [f"{value:.3f}" for value in values]
        traces.append(bars(places, values, name=name, marker=marker, text=texts, hovertemplate=hover))
    return figure_of(traces, _HEIGHT, x={**token_axis(keys), "title": "key"}, y={"title": "weight", "range": [0, 1]})


def norms_figure(gammas: np.ndarray, betas: np.ndarray) -> go.Figure:
    """Histograms of all gamma and beta."""
    traces = []
    for name, values, colour in (("γ, initialised to 1", gammas, BLUE), ("β, initialised to 0", betas, ORANGE)):
        counts, edges = np.histogram(values, 40)
        middles, marker = (edges[:-1] + edges[1:]) / 2, {"color": colour, "opacity": 0.7}
        hover = "%{x:.3f}: %{y:,}<extra></extra>"
        traces.append(bars(middles, counts, width=np.diff(edges), name=name, marker=marker, hovertemplate=hover))
    return figure_of(traces, _HEIGHT, x={"title": "value"}, y={"title": "count"}, barmode="overlay")


def shift_figure(fed: Sequence[str], following: Sequence[str]) -> go.Figure:
    """Decoder inputs above, targets below, one position ahead, with an arrow from each target to the same input."""
    traces, places = [], list(range(len(fed)))
    for row, name, tokens in ((1, "input", fed), (0, "target", following)):
        labels, above = [token_label(token) for token in tokens], "top" if row else "bottom"
        texts = {"text": labels, "textposition": f"{above} center"}
        marker, hover = {"size": 12, "color": BLUE if row else ORANGE}, f"row %{{x}}, {name}: %{{text}}<extra></extra>"
        heights = [row] * len(tokens)
        traces.append(scatter(places, heights, "markers+text", marker=marker, hovertemplate=hover, **texts))
    arrow = {"showarrow": True, "arrowhead": 2, "arrowcolor": "rgba(128, 128, 128, 0.8)"}
    arrows = [  # the target of row `place` is the input of the next one
        {"x": place + 1, "y": 0.93, "ax": place, "ay": 0.07, "axref": "x", "ayref": "y", **arrow}
        for place in places[:-1]
    ]
    x = {"tickvals": places, "ticktext": [str(place + 1) for place in places], "title": "row of the decoder"}
    y = {"tickvals": [1, 0], "ticktext": ["input", "target"], "range": [-0.5, 1.5]}
    return figure_of(traces, 260, x=x, y=y, annotations=arrows, showlegend=False)


def passes_figure(measured: Comparison) -> go.Figure:
    """Milliseconds of every round, both ways."""
    traces = []
    for name, seconds, colour in (("one pass", measured.parallel, BLUE), ("step by step", measured.cached, ORANGE)):
        times, marker = [1000 * each for each in seconds], {"color": colour, "size": 11, "opacity": 0.75}
        hover = f"{name}: %{{x:.1f}} ms<extra></extra>"
        traces.append(scatter(times, [name] * len(times), "markers", marker=marker, hovertemplate=hover))
    return figure_of(traces, 220, x={"title": "milliseconds", "rangemode": "tozero"}, showlegend=False)


def overview_figure(maps: np.ndarray, queries: tuple[str, ...], keys: tuple[str, ...]) -> go.Figure:
    """Thumbnails of maps [layers, heads, queries, keys], masked cells NaN.

    One heatmap with blank gutters: a browser draws it several times faster than one subplot a head.
    """
    layers, heads, rows, columns = maps.shape
    gaps = max(1, round(rows * 0.12)), max(1, round(columns * 0.12))
    steps = rows + gaps[0], columns + gaps[1]
    canvas = _side_by_side(maps, steps, np.nan, np.float32)
    texts = _hover_texts(maps, queries, keys) if maps.size <= MOST_CELLS_WITH_HOVER else None
    hover = None if texts is None else _side_by_side(texts, steps, "", object)
    # One path for all frames: a shape a head takes Plotly several times longer, here and in the browser.
    corners = [(layer * steps[0], head * steps[1]) for layer, head in np.ndindex(layers, heads)]
    frames = " ".join(_frame(top, left, rows, columns) for top, left in corners)
    bottom, right = layers * steps[0] - gaps[0], heads * steps[1] - gaps[1]
    shapes = [{"type": "path", "path": frames, "line": {"width": 1, "color": MIDDLE_GREY}}]
    x = {**_axis("head", heads, steps[1], columns), "side": "top", "range": [-gaps[1], right + gaps[1] / 2]}
    y = {**_axis("layer", layers, steps[0], rows), "range": [bottom + gaps[0] / 2, -gaps[0] / 2 - 0.5]}
    height = layers * min(130, max(40, 1000 / heads)) * min(2.0, max(0.6, rows / columns)) + 70
    return figure_of([Cells(canvas, hover).trace()], round(height), x=x, y=y, top=40, bottom=10, shapes=shapes)


def _axis(name: str, count: int, step: int, size: int) -> dict:
    numbers = token_axis([str(index + 1) for index in range(count)])
    return numbers | {"tickvals": [index * step + (size - 1) / 2 for index in range(count)], "title": titled(name, 14)}


def _frame(top: int, left: int, rows: int, columns: int) -> str:
    """The border of one thumbnail as an SVG path in the figure's coordinates."""
    x0, x1, y0, y1 = left - 0.5, left + columns - 0.5, top - 0.5, top + rows - 0.5
    return f"M{x0},{y0} L{x1},{y0} L{x1},{y1} L{x0},{y1} Z"


def _side_by_side(maps: np.ndarray, steps: tuple[int, int], blank: float | str, dtype: type) -> np.ndarray:
    """[layers, heads, rows, columns] -> [rows in all, columns in all], a map begins every `steps` cells."""
    layers, heads, rows, columns = maps.shape
    canvas = np.full(((layers - 1) * steps[0] + rows, (heads - 1) * steps[1] + columns), blank, dtype=dtype)
    for layer, head in np.ndindex(layers, heads):
        top, left = layer * steps[0], head * steps[1]
        canvas[top : top + rows, left : left + columns] = maps[layer, head]
    return canvas


def _hover_texts(maps: np.ndarray, queries: tuple[str, ...], keys: tuple[str, ...]) -> np.ndarray:
    """For each cell of every map: which head, which row attends to which key, with what weight."""
    names = [[f"row “{token_label(q)}” attends to “{token_label(k)}”" for k in keys] for q in queries]
    texts = np.empty(maps.shape, dtype=object)
    for layer, head in np.ndindex(maps.shape[:2]):
        which = f"Layer {layer + 1}, head {head + 1}<br>"
        texts[layer, head] = [
            [f"{which}{name} with weight {weight:.4f}" for name, weight in zip(*line, strict=True)]
            for line in zip(names, maps[layer, head].tolist(), strict=True)
        ]
    return texts
