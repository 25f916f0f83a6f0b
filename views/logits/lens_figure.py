"""The logit lens: what each layer would have predicted at each step, and the final token's rank."""

from collections.abc import Callable, Sequence

import plotly.graph_objects as go

from plots.palette import token_label
from plots.text import chance_words
from transformer.interpret.predictions import Predictions


def lens_rows(lens: Predictions, name: Callable[[int], str]) -> list[tuple[str, list[str]]]:
    """From the start to the last layer: its name, and a cell a step: its favourite, below how the final token stands.

    `name` turns an id into the token's text.
    """
    rows, steps = lens.probabilities.shape
    return [
        (
            layer,
            [
                f"{name(int(lens.best_ids[row, step, 0]))}\n{chance_words(float(lens.probabilities[row, step]))}, "
                f"rank {lens.ranks[row, step]:,}"
                for step in range(steps)
            ],
        )
        for row, layer in enumerate(layer_names(rows))
    ]


def ranks_figure(lens: Predictions, following: Sequence[str], step: int) -> go.Figure:
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
