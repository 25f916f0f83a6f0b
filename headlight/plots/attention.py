"""Figures of attention: one head, averages, all heads, and what the division by the root of d_k does."""

import numpy as np
import plotly.graph_objects as go

from transformer.arrays import require_index
from transformer.experiments.attention import RandomProducts, measure_random_products
from transformer.interpret.attention_block import record_stages, undivided
from transformer.interpret.trace import RowLabel, Trace, attention_map, masked_maps, row_and_column_labels
from transformer.model.names import AttentionKind
from transformer.translator import Translator

from .heatmap import ROOM_OF_A_HALF, Cells, attention_map_figure
from .layout import figure_of, label_axis, line_at, logarithmic_axis, note_at, scatter, titled, token_rows
from .limits import block_for, pooled
from .palette import BLUE, GREY, MIDDLE_GREY, OLIVE
from .tokens import token_label

_WITHOUT, _WITH = {"color": OLIVE, "dash": "dash"}, {"color": BLUE, "dash": "solid"}

_OWN = ": the model's own"


def spread_figure(spread: RandomProducts, d_k: int) -> go.Figure:
    """Draw the standard deviation of q k and of q k / sqrt(d_k) over d_k, axes logarithmic, the model's d_k marked."""
    look = {"name": "√d_k", "line": {"color": GREY, "dash": "dot"}}
    curves = [
        _scaling_line(spread, "q·k", spread.products, _WITHOUT, "standard deviation of q·k"),
        _scaling_line(spread, "q·k / √d_k", spread.scores, _WITH, "standard deviation of q·k / √d_k"),
        scatter(spread.sizes, np.sqrt(spread.sizes), "lines", hovertemplate="√%{x} = %{y:.3f}<extra></extra>", **look),
    ]
    return _over_sizes(curves, spread, d_k, logarithmic_axis("standard deviation"))


def largest_figure(spread: RandomProducts, d_k: int) -> go.Figure:
    """Draw the mean largest weight of a row over d_k, without the division and with it."""
    without, divided = "without the division", "with the division"
    curves = [
        _scaling_line(spread, without, spread.largest, _WITHOUT, f"max weight {without}"),
        _scaling_line(spread, divided, spread.largest_scaled, _WITH, f"max weight {divided}"),
    ]
    return _over_sizes(curves, spread, d_k, {"title": f"largest of {spread.keys} weights", "range": [0, 1.03]})


def scaled_rows_figure(
    without: np.ndarray, divided: np.ndarray, queries: tuple[str, ...], *, is_divided: bool = True
) -> go.Figure:
    """Draw the largest weight of every query of one head, without the division and with it: [queries] each.

    The model's own are those with the division where it `is_divided`.
    """
    traces, places = [], list(range(len(queries)))
    for name, values, colour, symbol in (
        ("without the division" + _OWN * (not is_divided), without, OLIVE, "diamond"),
        ("with the division" + _OWN * is_divided, divided, BLUE, "circle"),
    ):
        words = zip(queries, values, strict=True)
        hover = [f"{token_label(query)}: max weight {value:.4f} {name}" for query, value in words]
        look = {"color": colour, "symbol": symbol, "size": 10}
        traces.append(scatter(values, places, "markers", name=name, marker=look, hovertext=hover, hoverinfo="text"))
    between = {"type": "line", "layer": "below", "line": {"color": MIDDLE_GREY, "width": 1}}
    lines = [
        {"x0": left, "x1": right, "y0": place, "y1": place, **between}
        for place, (left, right) in enumerate(zip(divided, without, strict=True))
    ]
    x = {"title": "max weight of the row", "range": [-0.02, 1.03]}
    return figure_of(traces, 110 + 24 * len(queries), x=x, y=token_rows(queries, grid=True), shapes=lines)


def _scaling_line(spread: RandomProducts, name: str, values: np.ndarray, line: dict, measure: str) -> dict:
    hover = f"d_k %{{x}}<br>{measure} %{{y:.3f}}<extra></extra>"
    return scatter(spread.sizes, values, "lines+markers", name=name, line=line, hovertemplate=hover)


def _over_sizes(curves: list[dict], spread: RandomProducts, d_k: int, y: dict) -> go.Figure:
    """Return a figure of curves over d_k, with a line at the model's own."""
    x = {"type": "log", "title": "d_k", "tickvals": spread.sizes}
    line = line_at(d_k, {"color": GREY, "width": 1, "dash": "dot"})
    note = note_at(np.log10(d_k), f"this model: {d_k}")
    return figure_of(curves, 340, x=x, y=y, shapes=[line], annotations=[note])


_MOST_OF_A_SIDE = 130  # cells of a thumbnail, which is no larger in pixels
MOST_CELLS_WITH_HOVER = 40_000  # hover texts beyond this would weigh more than the maps themselves


def overview_figure(maps: np.ndarray, queries: tuple[str, ...], keys: tuple[str, ...]) -> go.Figure:
    """Draw thumbnails of maps [layers, heads, queries, keys], masked cells NaN.

    One heatmap with blank gutters: a browser draws it several times faster than one subplot a head. Of a long text
    several cells share one, which has the largest of them.
    """
    maps = pooled(maps, block_for(maps, _MOST_OF_A_SIDE)) if max(maps.shape[2:]) > _MOST_OF_A_SIDE else maps
    layers, heads, rows, columns = maps.shape
    gaps = max(1, round(rows * 0.12)), max(1, round(columns * 0.12))
    steps = rows + gaps[0], columns + gaps[1]
    canvas = _side_by_side(maps, steps, np.nan, np.float32)
    texts = _overview_hover(maps, queries, keys) if maps.size <= MOST_CELLS_WITH_HOVER else None
    hover = None if texts is None else _side_by_side(texts, steps, "", object)
    # One path for all frames: a shape a head takes Plotly several times longer, here and in the browser.
    corners = [(layer * steps[0], head * steps[1]) for layer, head in np.ndindex(layers, heads)]
    frames = " ".join(_frame(top, left, rows, columns) for top, left in corners)
    bottom, right = layers * steps[0] - gaps[0], heads * steps[1] - gaps[1]
    shapes = [{"type": "path", "path": frames, "line": {"width": 1, "color": MIDDLE_GREY}}]
    x = {**_thumbnail_axis("head", heads, steps[1], columns), "side": "top", "range": [-gaps[1], right + gaps[1] / 2]}
    y = {**_thumbnail_axis("layer", layers, steps[0], rows), "range": [bottom + gaps[0] / 2, -gaps[0] / 2 - 0.5]}
    height = layers * min(130, max(40, 1000 / heads)) * min(2.0, max(0.6, rows / columns)) + 70
    return figure_of([Cells(canvas, hover).trace()], round(height), x=x, y=y, top=40, bottom=10, shapes=shapes)


def _thumbnail_axis(name: str, count: int, step: int, size: int) -> dict:
    numbers = label_axis([str(index + 1) for index in range(count)])
    return numbers | {"tickvals": [index * step + (size - 1) / 2 for index in range(count)], "title": titled(name, 14)}


def _frame(top: int, left: int, rows: int, columns: int) -> str:
    """Return the border of one thumbnail as an SVG path in the figure's coordinates."""
    x0, x1, y0, y1 = left - 0.5, left + columns - 0.5, top - 0.5, top + rows - 0.5
    return f"M{x0},{y0} L{x1},{y0} L{x1},{y1} L{x0},{y1} Z"


def _side_by_side(maps: np.ndarray, steps: tuple[int, int], blank: float | str, dtype: type) -> np.ndarray:
    """Lay maps [layers, heads, rows, columns] out on one canvas [all rows, all columns], one every `steps` cells."""
    layers, heads, rows, columns = maps.shape
    canvas = np.full(((layers - 1) * steps[0] + rows, (heads - 1) * steps[1] + columns), blank, dtype=dtype)
    for layer, head in np.ndindex(layers, heads):
        top, left = layer * steps[0], head * steps[1]
        canvas[top : top + rows, left : left + columns] = maps[layer, head]
    return canvas


def _overview_hover(maps: np.ndarray, queries: tuple[str, ...], keys: tuple[str, ...]) -> np.ndarray:
    """Return for each cell of every map which head it is, and which row attends to which key with what weight."""
    names = [[f"row “{token_label(q)}” attends to “{token_label(k)}”" for k in keys] for q in queries]
    texts = np.empty(maps.shape, dtype=object)
    for layer, head in np.ndindex(maps.shape[:2]):
        which = f"Layer {layer + 1}, head {head + 1}<br>"
        texts[layer, head] = [
            [f"{which}{name} with weight {weight:.4f}" for name, weight in zip(*line, strict=True)]
            for line in zip(names, maps[layer, head].tolist(), strict=True)
        ]
    return texts


def require_head(trace: Trace, kind: AttentionKind | str, layer: int, head: int = 0) -> None:
    """Raise ValueError unless a trace has a head of this kind, layers and heads counted from 0."""
    layers, heads = trace.attention(kind).shape[:2]
    require_index("layer", layer, layers)
    require_index("head", head, heads)


def head(
    trace: Trace,
    kind: AttentionKind | str = "cross",
    *,
    layer: int = 0,
    head: int = 0,
    rows: RowLabel | str = "predicted",
) -> go.Figure:
    """Draw one head's weights, from 0 to 1: rows are queries, columns keys, cells under the causal mask blank.

    `kind`: "encoder", "decoder" or "cross"; `layer` and `head` count from 0. `rows` names a decoder row after the token
    it predicts, after the one it is "fed", or after "both". Raises ValueError for a head that the trace does not have.
    """
    require_head(trace, kind, layer, head)
    return attention_map_figure(attention_map(trace, kind, layer, head, rows), ROOM_OF_A_HALF)


def average(
    trace: Trace,
    kind: AttentionKind | str = "cross",
    *,
    layer: int | None = None,
    head: int | None = None,
    rows: RowLabel | str = "predicted",
) -> go.Figure:
    """Draw the mean of the weights over heads: of a `layer`, of one `head` in all layers, or of all of them.

    Both count from 0; `kind` and `rows` as for `head`. Raises ValueError for what the trace does not have.
    """
    return attention_map_figure(attention_map(trace, kind, layer, head, rows), ROOM_OF_A_HALF)


def all_heads(trace: Trace, kind: AttentionKind | str = "cross") -> go.Figure:
    """Draw the maps of all heads of a kind as thumbnails: layers from top to bottom, heads from left to right."""
    kind = AttentionKind(kind)
    fed, predicted, keys = row_and_column_labels(
        kind, trace.source_tokens, trace.decoder_input_tokens, trace.target_tokens
    )
    return overview_figure(masked_maps(trace, kind), predicted or fed, keys)


def without_scaling(
    translator: Translator, trace: Trace, kind: AttentionKind | str = "cross", *, layer: int = 0, head: int = 0
) -> go.Figure:
    """Draw the largest weight of each query of a head, with the division by sqrt(d_k) and without it.

    `layer` and `head` count from 0. Raises ValueError for a head that the trace does not have.
    """
    require_head(trace, kind, layer, head)
    stages = record_stages(translator.model, trace.source_ids, trace.decoder_input_ids, kind, layer)
    without, divided = (weights.max(axis=-1) for weights in undivided(stages, head))
    queries = trace.source_tokens if AttentionKind(kind) == AttentionKind.ENCODER else trace.decoder_input_tokens
    return scaled_rows_figure(without, divided, queries, is_divided=stages.is_divided)


def score_deviation(translator: Translator, *, seed: int = 1) -> go.Figure:
    """Draw the standard deviation of dot products of random vectors over their size d_k, divided by sqrt(d_k) and not.

    A line marks the model's d_k; `seed` draws the vectors.
    """
    return spread_figure(measure_random_products(seed), translator.model.config.d_k)


def largest_weight(translator: Translator, *, seed: int = 1) -> go.Figure:
    """Draw the largest weight that softmax makes of such products over d_k, options as for `score_deviation`."""
    return largest_figure(measure_random_products(seed), translator.model.config.d_k)
