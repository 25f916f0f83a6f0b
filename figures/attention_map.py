"""One attention map, large: rows are queries, columns keys, each cell a weight."""

import numpy as np
import plotly.graph_objects as go

from transformer.maps import AttentionMap
from transformer.masked_head import MaskedHead

from .style import KIND_NAMES, WEIGHT_SCALE, head_name, sentence_case, short_weight, token_label

SMALLEST_CELL_WITH_VALUE = 26  # pixels; in smaller ones the numbers no longer fit, hovering still shows them
SMALLEST_LABEL = 8  # pixels; of tokens closer than this, every second or third is labelled

ROW_NAMES = {"fed": "decoder row: token it was fed", "predicted": "decoder row: token it predicts"}


def attention_map_figure(chosen: AttentionMap) -> go.Figure:
    """A heatmap of weights from 0 to 1 with values, hover in words; masked cells stay blank."""
    rows, columns = chosen.weights.shape
    figure = go.Figure(
        go.Heatmap(
            z=chosen.weights.astype(np.float32),
            zmin=0,
            zmax=1,
            colorscale=WEIGHT_SCALE,
            hovertext=_hover_texts(chosen),
            hoverinfo="text",
            hoverongaps=False,
            xgap=1,
            ygap=1,
            colorbar={
                "title": {"text": "weight"},
                "thickness": 10,
                "lenmode": "pixels",
                "len": 180,
                "y": 1,
                "yanchor": "top",
                "tickvals": [0, 0.25, 0.5, 0.75, 1],
            },
        )
    )
    cell = min(48, max(7, 900 // max(rows, columns)))
    if cell >= SMALLEST_CELL_WITH_VALUE:
        figure.add_trace(_values(chosen.weights, size=min(12, cell // 3 + 1)))
    label_size = min(13, max(SMALLEST_LABEL, cell - 3))
    every = -(-SMALLEST_LABEL // cell)
    key_name = "key: target token fed" if chosen.kind == "decoder" else "key: source token"
    row_name = "query: source token" if chosen.kind == "encoder" else ROW_NAMES[chosen.row_label]
    figure.update_xaxes(
        **_axis(chosen.keys, label_size, every), side="top", tickangle=-60, range=[-0.5, columns - 0.5],
        constrain="domain", title={"text": key_name, "standoff": 8},
    )  # fmt: skip
    figure.update_yaxes(
        **_axis(chosen.queries, label_size, every), range=[rows - 0.5, -0.5], scaleanchor="x", constrain="domain",
        constraintoward="top", title={"text": row_name, "standoff": 8},
    )  # fmt: skip
    letter = 0.6 * label_size
    widest_key, widest_query = (max(map(len, tokens), default=1) * letter for tokens in (chosen.keys, chosen.queries))
    figure.update_layout(
        title=None,
        width=round(columns * cell + widest_query + 160),
        height=round(rows * cell + widest_key + 80),
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
    )
    return figure


def map_title(chosen: AttentionMap) -> str:
    """What the map is, averages named as such: "Cross-attention: layer 3, head 2"."""
    return f"{KIND_NAMES[chosen.kind]}: {head_name(chosen.layer, chosen.head, chosen.layers, chosen.heads)}"


def _axis(tokens: tuple[str, ...], size: int, every: int) -> dict:
    # Ticks by number: as categories, equal tokens would fall into one.
    return {
        "tickvals": list(range(0, len(tokens), every)),
        "ticktext": [token_label(token) for token in tokens[::every]],
        "tickfont": {"size": size},
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
    }


def _values(weights: np.ndarray, size: int) -> go.Scatter:
    """The weights as text in the page's own colour, two decimals, nothing where the mask is."""
    rows, columns = np.nonzero(~np.isnan(weights))
    return go.Scatter(
        x=columns,
        y=rows,
        mode="text",
        text=[short_weight(value) for value in weights[rows, columns]],
        textfont={"size": size},
        hoverinfo="skip",
        showlegend=False,
    )


def _hover_texts(chosen: AttentionMap) -> list[list[str]]:
    name = sentence_case(head_name(chosen.layer, chosen.head, chosen.layers, chosen.heads))
    texts = []
    for row, weights in enumerate(chosen.weights):
        texts.append(
            [
                f"{name}<br>{row_words(chosen, row)}<br>reads “{token_label(key)}” with weight <b>{weight:.4f}</b>"
                for key, weight in zip(chosen.keys, weights, strict=True)
            ]
        )
    return texts


def row_words(chosen: AttentionMap | MaskedHead, row: int) -> str:
    """A row in words: the source token, or what the decoder was fed and what it predicts."""
    if chosen.predicted is None:
        return f"“{token_label(chosen.fed[row])}”"
    fed, predicted = token_label(chosen.fed[row]), token_label(chosen.predicted[row])
    return f"fed “{fed}”, predicting “{predicted}”,"
