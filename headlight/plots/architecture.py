"""Figures of the architecture: a token's way through a stack, hidden units, parameters."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from transformer.config import Activation
from transformer.interpret.residual import Trajectory

from .layout import Theme, bars, candidate_rows, figure_of, label_axis, row_bars, scatter
from .numbers import signed
from .palette import BLUE, GREEN, OLIVE
from .tokens import token_label

_SUBLAYERS = {
    "embedding": "embedding",
    "positions": "+ position",
    "embedding_norm": "first LayerNorm",
    "self_attention": "self-attention",
    "cross_attention": "cross-attention",
    "feed_forward": "feed-forward",
    "norm": "last LayerNorm",
}
ACTIVATION_NAMES = {
    Activation.RELU: "ReLU",
    Activation.GELU: "GELU",
    Activation.GELU_NEW: "GELU",
    Activation.SILU: "SiLU",
}

_UNITS = 24  # hidden units that are drawn
_UPPER, _LOWER = {"xaxis": "x", "yaxis": "y"}, {"xaxis": "x2", "yaxis": "y2"}  # panels


def sublayer_names(trajectory: Trajectory, norm: str = "LayerNorm") -> list[str]:
    """Return the writer of each vector of a trajectory, with the norms named `norm`: "layer 2 feed-forward"."""
    return [
        _SUBLAYERS[kind].replace("LayerNorm", norm) if layer is None else f"layer {layer + 1} {_SUBLAYERS[kind]}"
        for kind, layer in trajectory.points
    ]


def trajectory(trajectory: Trajectory, norm: str = "LayerNorm", *, theme: Theme = "paper") -> go.Figure:
    """Draw two panels over the sub-layers: norms of the vector and of the addition; cosines with two earlier ones.

    `trajectory`: of `transformer.interpret.residual.trajectory`; `norm`: the name of the model's norms.
    """
    names, places = sublayer_names(trajectory, norm), list(range(len(trajectory.points)))
    added = {"name": "norm of what is added", "marker": {"color": OLIVE, "opacity": 0.6}, "customdata": names}
    hover = "%{customdata}: adds a vector of norm %{y:.2f}<extra></extra>"
    traces = [bars(places, trajectory.changes, hovertemplate=hover, **_UPPER, **added)]
    for values, name, colour, dash, digits, panel in (
        (trajectory.norms, "norm of the vector", BLUE, "solid", 2, _UPPER),
        (trajectory.similarities, "cosine with its embedding", GREEN, "solid", 3, _LOWER),
        (trajectory.turns, "cosine with the vector before", BLUE, "dot", 3, _LOWER),
    ):
        hover = f"%{{customdata}}: {name} %{{y:.{digits}f}}<extra></extra>"
        look = {"line": {"color": colour, "dash": dash}, "customdata": names, "hovertemplate": hover}
        traces.append(scatter(places, values, "lines+markers", name=name, **look, **panel))
    lowest = min(-0.1, float(np.min(trajectory.similarities)) - 0.05)
    x = {"anchor": "y", "domain": [0, 1], "matches": "x2", "showticklabels": False}
    y = {"anchor": "x", "domain": [0.494, 1], "title": "norm", "rangemode": "tozero"}
    lower: dict[str, Any] = {
        "xaxis2": {"anchor": "y2", "domain": [0, 1], "tickvals": places, "ticktext": names, "tickangle": -40},
        "yaxis2": {"anchor": "x2", "domain": [0, 0.414], "title": "cosine", "range": [lowest, 1.05]},
    }
    return figure_of(traces, 470, theme=theme, x=x, y=y, bottom=120, **lower)


def nearest_tokens(
    neighbours: Sequence[tuple[int, float]], name: Callable[[int], str], *, theme: Theme = "paper"
) -> go.Figure:
    """Draw the tokens whose embeddings have the largest cosine with that of a token.

    `neighbours`: of `transformer.interpret.parameters.nearest`; `name`: of an id the token's text.
    """
    tokens, cosines = [name(id) for id, _ in neighbours], [cosine for _, cosine in neighbours]
    hover = [f"{token_label(name(id))} (id {id}): cosine {signed(cosine)}" for id, cosine in neighbours]
    traces = [row_bars(cosines, hover, BLUE, texts=[signed(cosine, 3) for cosine in cosines])]
    x = {"title": "cosine with this token's row", "range": [min(0.0, cosines[-1]), 1]}
    return figure_of(traces, 80 + 26 * len(cosines), theme=theme, x=x, y=candidate_rows(tokens), top=10)


def hidden_units(
    units: np.ndarray,
    activation: str = "ReLU",
    parts: tuple[np.ndarray, np.ndarray] | None = None,
    *,
    theme: Theme = "paper",
) -> go.Figure:
    """Draw one token's strongest units, [d_ff], after the activation of this name.

    `units`: a row of `transformer.interpret.residual.record_hidden_units`. parts: of a gated feed-forward the gates and
    their factors, [d_ff] each, of `record_gates`; then units of both signs.
    """
    order = np.argsort(-(units if parts is None else np.abs(units)), kind="stable")[:_UNITS]
    order = order[(units[order] > 0) | (parts is not None)]
    hover, title = [f"unit {unit + 1}: {signed(units[unit])}" for unit in order], f"after {activation}"
    if parts is not None:
        title, (gates, values) = "gate × second map", parts
        hover = [
            f"unit {unit + 1}: gate {signed(gates[unit])} × {signed(values[unit])} = {signed(units[unit])}"
            for unit in order
        ]
    look = {"marker": {"color": BLUE, "opacity": 0.75}, "hovertext": hover, "hoverinfo": "text"}
    x = {**label_axis([str(unit + 1) for unit in order]), "title": "hidden unit"}
    traces = [bars(list(range(len(order))), units[order], **look)]
    return figure_of(traces, 300, theme=theme, x=x, y={"title": title}, top=10, bottom=60)
