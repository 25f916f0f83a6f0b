"""What enters the encoder: embeddings, positions and their sum, one above the other, and their lengths."""

import numpy as np
import plotly.graph_objects as go

from plots.palette import diverging_heatmap, integer_axis, token_label
from transformer.interpret.positions import EmbeddingSum

PART_NAMES = ("embedding × √d_model", "position", "sum: what enters the encoder")
_SHORT_NAMES = ("embedding", "position", "sum")
_COLOURS = ("#1f77e0", "#8a8a8a", "#e8710a")
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
    names = [
        name
        for long, short in zip(PART_NAMES, _SHORT_NAMES, strict=True)
        for name in (
            *(f"{long} {number}" for number in range(gap)),
            *(f"{short} of “{word}” at position {place}" for place, word in enumerate(words)),
        )
    ]
    # A few values of embeddings are far larger than all others; as the end of the scale they would pale the positions.
    limit = float(np.nanpercentile(np.abs(canvas), 99))
    hover = "%{y}<br>dimension %{x}<br>value <b>%{z:.4f}</b>"
    figure = go.Figure(diverging_heatmap(canvas, limit, "value", hover, names))
    figure.update_traces(
        colorbar={"tickvals": [-limit, 0, limit], "ticktext": [f"≤ −{limit:.1f}", "0", f"≥ {limit:.1f}"]}
    )
    figure.add_scatter(
        x=[-0.5] * 3, y=[f"{name} {gap // 2}" for name in PART_NAMES], mode="text",
        text=[f"<b>{name}</b>" for name in PART_NAMES], textposition="middle right", textfont={"size": 14},
        hoverinfo="skip", showlegend=False, cliponaxis=False,
    )  # fmt: skip
    places = range(0, tokens, -(-11 // row))  # labels closer than 11 pixels run into one another
    figure.update_xaxes(**integer_axis(canvas.shape[1], "dimension"), side="top")
    figure.update_yaxes(
        type="category", range=[len(names) - 0.5, -0.5], showgrid=False, zeroline=False, automargin=True,
        tickvals=[part * (gap + tokens) + gap + place for part in range(3) for place in places],
        ticktext=[words[place] for place in places] * 3, tickfont={"size": 12},
    )  # fmt: skip
    return figure.update_layout(height=row * len(names) + 90, margin={"l": 10, "r": 10, "t": 10, "b": 10})


def norms_figure(summed: EmbeddingSum) -> go.Figure:
    """The lengths of all three for each token as bars, the cosine between embedding and sum above them."""
    norms = summed.norms
    places = np.arange(len(summed.tokens))
    words = [token_label(token) for token in summed.tokens]
    every = -(-len(words) // 60)
    named = [f"“{word}” at position {place}" for place, word in enumerate(words)]
    figure = go.Figure()
    for values, name, colour in zip(norms, _SHORT_NAMES, _COLOURS, strict=True):
        figure.add_bar(
            x=places, y=values.astype(np.float32), name=name, customdata=named, marker={"color": colour},
            hovertemplate=f"{name} of %{{customdata}}<br>length <b>%{{y:.2f}}</b><extra></extra>",
        )  # fmt: skip
    figure.add_scatter(
        x=places, y=norms.max(axis=0), mode="text" if len(words) <= MOST_NUMBERS else "none",
        text=[f"{cosine:.2f}" for cosine in summed.cosines],
        textposition="top center", textfont={"size": 12}, customdata=named, name="cosine",
        hovertemplate="cosine between embedding and sum of %{customdata}: <b>%{text}</b><extra></extra>",
        showlegend=False,
    )  # fmt: skip
    figure.update_xaxes(
        tickvals=places[::every],
        ticktext=words[::every],
        tickangle=-60,
        automargin=True,
        showgrid=False,
        range=[-0.5, len(words) - 0.5],
    )
    figure.update_yaxes(
        title="Euclidean length", automargin=True, gridcolor="rgba(128, 128, 128, 0.25)",
        range=[0, float(norms.max()) * 1.15],
    )  # fmt: skip
    return figure.update_layout(
        height=360, barmode="group", margin={"l": 10, "r": 10, "t": 10, "b": 10},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )  # fmt: skip
