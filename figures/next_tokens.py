"""What the model gives to the next token of each step, with a mask and without it."""

import numpy as np
import plotly.graph_objects as go

from transformer.masking import MaskedPass

from .style import token_label

_BLUE, _ORANGE = "rgb(31, 119, 224)", "rgb(232, 113, 10)"
ROW_HEIGHT = 26  # pixels


def next_tokens_figure(masked: MaskedPass, lifted: MaskedPass, sentence: int) -> go.Figure:
    """One row a step of the decoder, from top to bottom, a dot for each of the two probabilities, a line between."""
    steps = masked.target_lengths[sentence]
    rows = np.arange(steps)
    before, after = (run.next_probabilities[sentence, :steps] for run in (masked, lifted))
    fed, following = masked.fed_tokens[sentence][:steps], masked.next_tokens[sentence][:steps]
    gap = np.full(steps, np.nan)
    figure = go.Figure(
        [
            go.Scatter(
                x=np.stack([before, after, gap], axis=1).ravel().astype(np.float32),
                y=np.stack([rows, rows, gap], axis=1).ravel().astype(np.float32),
                mode="lines",
                line={"color": "rgba(128, 128, 128, 0.6)", "width": 3},
                hoverinfo="skip",
                showlegend=False,
            ),
            _dots("with the mask", before, masked, sentence, {"color": _BLUE, "size": 11, "symbol": "circle"}),
            _dots("without the mask", after, lifted, sentence, {"color": _ORANGE, "size": 11, "symbol": "diamond"}),
        ]
    )
    figure.update_xaxes(
        range=[-0.03, 1.03], tickvals=[0, 0.25, 0.5, 0.75, 1], ticktext=["0 %", "25 %", "50 %", "75 %", "100 %"],
        side="top", zeroline=False, gridcolor="rgba(128, 128, 128, 0.25)",
        title={"text": "probability of the next token", "standoff": 8},
    )  # fmt: skip
    figure.update_yaxes(
        tickvals=list(range(steps)),
        ticktext=[f"{token_label(a)} → {token_label(b)}" for a, b in zip(fed, following, strict=True)],
        range=[steps - 0.5, -0.5], showgrid=False, zeroline=False, automargin=True,
        title={"text": "step: token fed → next token", "standoff": 8},
    )  # fmt: skip
    figure.update_layout(
        title=None,
        height=steps * ROW_HEIGHT + 110,
        margin={"l": 10, "r": 10, "t": 10, "b": 40},
        legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
    )
    return figure


def _dots(name: str, probabilities: np.ndarray, run: MaskedPass, sentence: int, marker: dict) -> go.Scatter:
    steps = len(probabilities)
    hover = [
        f"Step {step + 1}: fed “{token_label(run.fed_tokens[sentence][step])}”<br>"
        f"next token “{token_label(run.next_tokens[sentence][step])}” {name}: <b>{probabilities[step]:.4f}</b><br>"
        f"first choice “{token_label(run.best_tokens[sentence][step])}” {run.best_probabilities[sentence, step]:.4f}"
        for step in range(steps)
    ]
    return go.Scatter(
        x=probabilities.astype(np.float32),
        y=np.arange(steps),
        mode="markers",
        name=name,
        marker=marker,
        hovertext=hover,
        hoverinfo="text",
    )
