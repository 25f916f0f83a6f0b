"""The logit lens: layers by steps, each cell the token that would have been predicted there."""

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.lens import Lens

from .style import WEIGHT_SCALE, token_label

_LONGEST = 9  # letters of a token in a cell


def lens_figure(lens: Lens, name: Callable[[int], str], fed: Sequence[str], following: Sequence[str]) -> go.Figure:
    """Colour is the probability of the token that comes in the end, the text the layer's own favourite."""
    rows, steps = lens.probabilities.shape
    layers = layer_names(rows)
    best = [[name(int(id)) for id in row] for row in lens.best_ids[:, :, 0]]
    hover = [
        [
            f"step {step + 1}, fed {token_label(fed[step])}<br>{layers[row]}: {token_label(best[row][step])} "
            f"{lens.best_probabilities[row, step, 0]:.4f}<br>{token_label(following[step])}, which comes in the end: "
            f"{lens.probabilities[row, step]:.4f}, rank {lens.ranks[row, step]:,}"
            for step in range(steps)
        ]
        for row in range(rows)
    ]
    figure = go.Figure(
        go.Heatmap(
            z=lens.probabilities.astype(np.float32), customdata=hover, hovertemplate="%{customdata}<extra></extra>",
            text=[[token_label(_short(token)) for token in row] for row in best],
            texttemplate="%{text}" if steps <= 16 else None, colorscale=WEIGHT_SCALE, zmin=0, zmax=1, xgap=2, ygap=2,
            colorbar={"title": {"text": "probability of<br>the final token"}, "thickness": 12},
        )
    )  # fmt: skip
    figure.update_yaxes(tickvals=list(range(rows)), ticktext=layers)
    figure.update_xaxes(
        tickvals=list(range(steps)), ticktext=[token_label(token) for token in following], side="top", tickangle=-45
    )
    figure.update_layout(height=130 + 46 * rows, margin={"l": 10, "r": 10, "t": 70, "b": 10})
    return figure


def ranks_figure(lens: Lens, following: Sequence[str], step: int) -> go.Figure:
    """Rank of every step's final token by layer, on a logarithmic axis; the chosen step stands out."""
    rows, steps = lens.ranks.shape
    figure = go.Figure()
    for each in [*(other for other in range(steps) if other != step), step]:
        chosen = each == step
        figure.add_scatter(
            x=list(range(rows)), y=lens.ranks[:, each], mode="lines+markers", name=token_label(following[each]),
            line={"color": "#1f77e0" if chosen else "rgba(128, 128, 128, 0.45)", "width": 3 if chosen else 1},
            hovertemplate=f"{token_label(following[each])}, %{{customdata}}: rank %{{y:,}}<extra></extra>",
            customdata=layer_names(rows), showlegend=False,
        )  # fmt: skip
    figure.update_xaxes(tickvals=list(range(rows)), ticktext=layer_names(rows))
    figure.update_yaxes(title="rank, 1 is the favourite", type="log", autorange="reversed")
    figure.update_layout(height=340, margin={"l": 10, "r": 10, "t": 20, "b": 40})
    return figure


def layer_names(rows: int) -> list[str]:
    """What the rows of a lens are called."""
    return ["start", *(f"layer {layer}" for layer in range(1, rows))]


def _short(token: str) -> str:
    return token if len(token) <= _LONGEST else f"{token[: _LONGEST - 1]}…"
