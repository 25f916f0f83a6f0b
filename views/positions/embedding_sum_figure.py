"""What enters the encoder: embeddings, positions and their sum, one above the other, and their norms."""

import numpy as np
import plotly.graph_objects as go

from plots.heatmap import Cells
from plots.layout import GRID, bar_below, integer_axis, laid_out, token_axis, token_rows
from plots.palette import BLUE, BRIGHT_ORANGE, GREY, diverging
from plots.text import token_label
from transformer.interpret.positions import EmbeddingSum

PART_NAMES = ("embedding × √d_model", "position", "sum: what enters the encoder")
_SHORT_NAMES = ("embedding", "position", "sum")
_COLOURS = (BLUE, GREY, BRIGHT_ORANGE)
MOST_NUMBERS = 24  # tokens; beside more of them the cosines run into one another
_TALLEST = 1100  # pixels, of all three together


def embedding_sum_figure(summed: EmbeddingSum, dimensions: int) -> go.Figure:
    """Three blocks of rows, each with its heading, over the first dimensions and on one scale around 0.

    One heatmap with blank rows for the headings: its columns are aligned, and a row's name is all that hovering needs.
    """
    tokens = len(summed.tokens)
    row = max(7, min(22, _TALLEST // (3 * tokens + 3)))
    gap = -(-20 // row)  # blank rows, enough of them for a heading
    parts = [part[:, :dimensions] for part in (summed.embeddings, summed.positions, summed.total)]
    blank = np.full((gap, parts[0].shape[1]), np.nan, dtype=np.float32)
    canvas = np.concatenate([block for part in parts for block in (blank, part)])  # 3 (gap + tokens) dimensions
    words = [token_label(token) for token in summed.tokens]
    names = _row_names(words, gap)
    figure = go.Figure(_values(canvas, names))
    headings = {"text": [f"<b>{name}</b>" for name in PART_NAMES], "textposition": "middle right"}
    look = {"textfont": {"size": 14}, "hoverinfo": "skip", "showlegend": False, "cliponaxis": False}
    figure.add_scatter(x=[-0.5] * 3, y=[f"{name} {gap // 2}" for name in PART_NAMES], mode="text", **headings, **look)
    places = range(0, tokens, -(-11 // row))  # labels closer than 11 pixels run into one another
    ticks = {
        "tickvals": [part * (gap + tokens) + gap + place for part in range(3) for place in places],
        "ticktext": [words[place] for place in places] * 3,
        "tickfont": {"size": 12},
    }
    figure.update_xaxes(**integer_axis(canvas.shape[1], "dimension"), side="top")
    figure.update_yaxes(**token_rows(names) | ticks, type="category")
    return laid_out(figure, row * len(names) + 90, top=10, bottom=60)


def norms_figure(summed: EmbeddingSum) -> go.Figure:
    """The norms of all three for each token as bars, the cosine between embedding and sum above them."""
    norms = summed.norms
    places = np.arange(len(summed.tokens))
    named = [f"“{token_label(token)}” at position {place}" for place, token in enumerate(summed.tokens)]
    figure = go.Figure()
    for values, name, colour in zip(norms, _SHORT_NAMES, _COLOURS, strict=True):
        hover = f"{name} of %{{customdata}}<br>norm <b>%{{y:.2f}}</b><extra></extra>"
        marker, shown = {"color": colour}, values.astype(np.float32)
        figure.add_bar(x=places, y=shown, name=name, customdata=named, marker=marker, hovertemplate=hover)
    mode = "text" if len(places) <= MOST_NUMBERS else "none"
    texts = {"text": [f"{cosine:.2f}" for cosine in summed.cosines], "textposition": "top center"}
    numbers = go.Scatter(x=places, y=norms.max(axis=0), mode=mode, customdata=named, showlegend=False, **texts)
    hover = "cosine between embedding and sum of %{customdata}: <b>%{text}</b><extra></extra>"
    figure.add_trace(numbers.update(textfont={"size": 12}, hovertemplate=hover))
    keys = token_axis(summed.tokens, every=-(-len(places) // 60))
    figure.update_xaxes(**keys, tickangle=-60, range=[-0.5, len(places) - 0.5])
    figure.update_yaxes(**GRID, title="Euclidean norm", range=[0, float(norms.max()) * 1.15])
    return laid_out(figure, 360, top=10, bottom=10).update_layout(barmode="group")


def _row_names(words: list[str], gap: int) -> list[str]:
    """A name for each row of all three blocks, blank ones included; equal names would fall into one row."""
    names = []
    for long, short in zip(PART_NAMES, _SHORT_NAMES, strict=True):
        names += [f"{long} {number}" for number in range(gap)]
        names += [f"{short} of “{word}” at position {place}" for place, word in enumerate(words)]
    return names


def _values(canvas: np.ndarray, names: list[str]) -> go.Heatmap:
    # A few values of embeddings are far larger than all others; as the end of the scale they would pale the positions.
    limit = float(np.nanpercentile(np.abs(canvas), 99))
    scale = diverging(limit)
    ends = {"ticktext": [f"≤ −{limit:.1f}", "0", f"≥ {limit:.1f}"]}
    cells = Cells(canvas, "%{y}<br>dimension %{x}<br>value <b>%{z:.4f}</b>", scale)
    return cells.trace(bar_below("value", scale, length=220) | ends).update(y=names)
