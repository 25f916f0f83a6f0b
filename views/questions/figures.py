"""The small figures that only the page of questions has."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from plots.palette import WEIGHT_SCALE, token_label
from transformer.experiments.fully_masked_rows import FullyMaskedRow
from transformer.experiments.parallel_vs_cached import Comparison

BLUE, ORANGE = "#1f77e0", "#c2570a"
_MARGIN = {"l": 10, "r": 10, "t": 30, "b": 40}
_LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}


def share_of_parameters_figure(counts: Mapping[int, int], own: int) -> go.Figure:
    """Parameters by d_model, the loaded model's own width in orange."""
    widths = list(counts)
    figure = go.Figure(
        go.Bar(
            x=[str(width) for width in widths], y=list(counts.values()),
            text=[f"{count / 1e6:.1f} M" for count in counts.values()],
            marker={"color": [ORANGE if width == own else BLUE for width in widths], "opacity": 0.75},
            hovertemplate="d_model %{x}: %{y:,} parameters<extra></extra>",
        )
    )  # fmt: skip
    figure.update_xaxes(title="d_model", type="category")
    figure.update_yaxes(title="parameters")
    return figure.update_layout(height=300, margin=_MARGIN)


def closed_row_figure(row: FullyMaskedRow, keys: Sequence[str]) -> go.Figure:
    """The weights of a row without an open key: −1e9 and the fused kernel; −∞ has no numbers to draw."""
    places = list(range(len(keys)))
    figure = go.Figure()
    for name, values, colour in (("−1e9", row.with_large_number, ORANGE), ("fused kernel", row.fused, BLUE)):
        figure.add_bar(
            x=places, y=values, name=name, marker={"color": colour, "opacity": 0.75},
            text=[f"{value:.3f}" for value in values], hovertemplate=f"{name}: %{{y:.4f}}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(tickvals=places, ticktext=[token_label(key) for key in keys], title="key")
    figure.update_yaxes(title="weight", range=[0, 1])
    return figure.update_layout(height=300, margin=_MARGIN, legend=_LEGEND)


def norms_figure(gammas: np.ndarray, betas: np.ndarray) -> go.Figure:
    """Histograms of all gamma and beta."""
    figure = go.Figure()
    for name, values, colour in (("γ, began at 1", gammas, BLUE), ("β, began at 0", betas, ORANGE)):
        counts, edges = np.histogram(values, 40)
        figure.add_bar(
            x=(edges[:-1] + edges[1:]) / 2, y=counts, width=np.diff(edges), name=name,
            marker={"color": colour, "opacity": 0.7}, hovertemplate="%{x:.3f}: %{y:,}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title="value")
    figure.update_yaxes(title="how many")
    return figure.update_layout(height=300, margin=_MARGIN, legend=_LEGEND, barmode="overlay")


def shift_figure(fed: Sequence[str], following: Sequence[str]) -> go.Figure:
    """Two rows of tokens, the lower one a place ahead, with the way of each token from one to the other."""
    figure = go.Figure()
    places = list(range(len(fed)))
    for row, name, tokens in ((1, "fed", fed), (0, "to predict", following)):
        figure.add_scatter(
            x=places, y=[row] * len(tokens), mode="markers+text", text=[token_label(token) for token in tokens],
            textposition="top center" if row else "bottom center",
            marker={"size": 12, "color": BLUE if row else ORANGE},
            hovertemplate=f"row %{{x}}, {name}: %{{text}}<extra></extra>", showlegend=False,
        )  # fmt: skip
    for place in places[:-1]:  # what row `place` is to predict is fed to the next one
        figure.add_annotation(
            x=place + 1, y=0.93, ax=place, ay=0.07, xref="x", yref="y", axref="x", ayref="y", showarrow=True,
            arrowhead=2, arrowcolor="rgba(128, 128, 128, 0.8)",
        )  # fmt: skip
    figure.update_xaxes(tickvals=places, ticktext=[str(place + 1) for place in places], title="row of the decoder")
    figure.update_yaxes(tickvals=[1, 0], ticktext=["fed", "to predict"], range=[-0.5, 1.5])
    return figure.update_layout(height=260, margin=_MARGIN)


def passes_figure(measured: Comparison) -> go.Figure:
    """Milliseconds of every round, both ways."""
    figure = go.Figure()
    for name, seconds, colour in (("one pass", measured.parallel, BLUE), ("step by step", measured.cached, ORANGE)):
        figure.add_scatter(
            x=[1000 * each for each in seconds], y=[name] * len(seconds), mode="markers", showlegend=False,
            marker={"color": colour, "size": 11, "opacity": 0.75},
            hovertemplate=f"{name}: %{{x:.1f}} ms<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title="milliseconds", rangemode="tozero")
    return figure.update_layout(height=220, margin=_MARGIN)


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
