"""The logit lens: how the final token's rank changes from layer to layer."""

from collections.abc import Sequence

import plotly.graph_objects as go

from plots.layout import laid_out
from plots.palette import BLUE
from plots.text import token_label
from transformer.interpret.activations import Predictions

from .text import layer_names

_CHOSEN = {"color": BLUE, "width": 3}
_OTHERS = {"color": "rgba(128, 128, 128, 0.45)", "width": 1}


def ranks_figure(lens: Predictions, following: Sequence[str], step: int) -> go.Figure:
    """Rank of every step's final token by layer, on a logarithmic axis; the chosen step stands out."""
    rows, steps = lens.ranks.shape
    places, names = list(range(rows)), layer_names(rows)
    figure = go.Figure()
    for each in [*(other for other in range(steps) if other != step), step]:
        token = token_label(following[each])
        ranks, line = lens.ranks[:, each], _CHOSEN if each == step else _OTHERS
        hover = [f"{token}, {name}: rank {rank:,}" for name, rank in zip(names, ranks, strict=True)]
        figure.add_scatter(x=places, y=ranks, mode="lines+markers", line=line, hovertext=hover, hoverinfo="text")
    figure.update_xaxes(tickvals=places, ticktext=names)
    figure.update_yaxes(title="rank, 1 is the top-1 prediction", type="log", autorange="reversed")
    return laid_out(figure, 340, top=20).update_layout(showlegend=False)
