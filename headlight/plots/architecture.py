"""Figures of the architecture: a token's way through a stack, hidden units, parameters."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from transformer.arrays import require_index, to_array
from transformer.config import Activation, FeedForwardType
from transformer.interpret import residual
from transformer.interpret.parameters import nearest
from transformer.interpret.residual import (
    StackStream,
    Trajectory,
    record_gates,
    record_hidden_units,
    record_residual_stream,
)
from transformer.interpret.trace import Trace
from transformer.model.names import Stack
from transformer.translator import Translator

from .layout import (
    bars,
    candidate_rows,
    figure_of,
    label_axis,
    row_bars,
    scatter,
)
from .names import norm_name
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

_HEIGHT = 300  # pixels
_UNITS = 24  # hidden units that are drawn
_UPPER, _LOWER = {"xaxis": "x", "yaxis": "y"}, {"xaxis": "x2", "yaxis": "y2"}  # panels


def sublayer_names(trajectory: Trajectory, norm: str = "LayerNorm") -> list[str]:
    """Return what wrote each vector of a trajectory, whose norms are called `norm`: "layer 2 feed-forward"."""
    return [
        _SUBLAYERS[kind].replace("LayerNorm", norm) if layer is None else f"layer {layer + 1} {_SUBLAYERS[kind]}"
        for kind, layer in trajectory.points
    ]


def trajectory_figure(trajectory: Trajectory, norm: str = "LayerNorm") -> go.Figure:
    """Draw two panels over the sub-layers: norms of the vector and of what is added; cosines with two earlier ones.

    `norm` is what the model's norms are called.
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
    return figure_of(traces, 470, x=x, y=y, bottom=120, **lower)


def neighbours_figure(found: Sequence[tuple[int, float]], name: Callable[[int], str]) -> go.Figure:
    """Draw the tokens of the largest cosines, with these."""
    tokens, cosines = [name(id) for id, _ in found], [cosine for _, cosine in found]
    hover = [f"{token_label(name(id))} (id {id}): cosine {cosine:.4f}" for id, cosine in found]
    traces = [row_bars(cosines, hover, BLUE, texts=[signed(cosine, 3) for cosine in cosines])]
    x = {"title": "cosine with this token's row", "range": [min(0.0, found[-1][1]), 1]}
    return figure_of(traces, 80 + 26 * len(found), x=x, y=candidate_rows(tokens), top=10)


def units_figure(
    units: np.ndarray, activation: str = "ReLU", parts: tuple[np.ndarray, np.ndarray] | None = None
) -> go.Figure:
    """Draw one token's strongest units: [d_ff], after the activation of this name.

    parts: of a gated feed-forward the gates and what they are multiplied with, [d_ff] each; then units of both signs.
    """
    order = np.argsort(-(units if parts is None else np.abs(units)), kind="stable")[:_UNITS]
    order = order[(units[order] > 0) | (parts is not None)]
    places, marker = list(range(len(order))), {"color": BLUE, "opacity": 0.75}
    hover = [f"unit {unit + 1}: {units[unit]:.4f}" for unit in order]
    title = f"after {activation}"
    if parts is not None:
        title, (gates, values) = "gate × second map", parts
        hover = [f"unit {unit + 1}: gate {gates[unit]:.4f} × {values[unit]:.4f} = {units[unit]:.4f}" for unit in order]
    traces = [bars(places, units[order], marker=marker, hovertext=hover, hoverinfo="text")]
    return _over_units(traces, order, _HEIGHT, {"title": title})


def _over_units(traces: list[dict], order: np.ndarray, height: int, y: dict) -> go.Figure:
    x = {**label_axis([str(unit + 1) for unit in order]), "title": "hidden unit"}
    return figure_of(traces, height, x=x, y=y, top=10, bottom=60)


def trajectory(translator: Translator, trace: Trace, stack: Stack | str = "decoder", *, token: int = 0) -> go.Figure:
    """Draw a token's way through a stack: after each sub-layer the vector's norm, and its cosine with earlier ones.

    `stack` is "encoder" or "decoder"; `token` counts from 0, in the decoder among the input tokens. Raises ValueError
    for what is not there.
    """
    followed = residual.trajectory(_stream(translator, trace, stack), token)
    return trajectory_figure(followed, norm_name(translator.model.config))


def nearest_tokens(
    translator: Translator, trace: Trace, stack: Stack | str = "encoder", *, token: int = 0
) -> go.Figure:
    """Draw the vocabulary's tokens whose embeddings have the largest cosine with that of a token of the sentence.

    Options and errors as for `trajectory`.
    """
    matrix, ids = _embedded(translator, trace, stack)
    require_index("token", token, len(ids))
    tokenizer, is_source = translator.tokenizer, Stack(stack) == Stack.ENCODER
    name = tokenizer.source_piece_text if is_source else tokenizer.piece_text
    return neighbours_figure(nearest(matrix, ids[token]), name)


def hidden_units(
    translator: Translator, trace: Trace, stack: Stack | str = "encoder", *, layer: int = 0, token: int = 0
) -> go.Figure:
    """Draw the strongest units of a feed-forward for a token, after the activation.

    `layer` and `token` count from 0. Raises ValueError for what is not there.
    """
    stack = Stack(stack)
    require_index("token", token, len(trace.source_ids if stack == Stack.ENCODER else trace.decoder_input_ids))
    recorded = translator.model, trace.source_ids, trace.decoder_input_ids, stack, layer
    if translator.model.config.feed_forward == FeedForwardType.GATED:
        gates, values = record_gates(*recorded)
        return units_figure((gates * values)[token], parts=(gates[token], values[token]))
    return units_figure(record_hidden_units(*recorded)[token], ACTIVATION_NAMES[translator.model.config.activation])


def _stream(translator: Translator, trace: Trace, stack: Stack | str) -> StackStream:
    """Run the model once more and return the residual stream of one side."""
    return getattr(record_residual_stream(translator.model, trace.source_ids, trace.decoder_input_ids), Stack(stack))


def _embedded(translator: Translator, trace: Trace, stack: Stack | str) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return the embedding matrix of a side, [vocabulary, d_model], and the ids of its tokens."""
    is_source = Stack(stack) == Stack.ENCODER
    matrix = translator.model.source_embedding if is_source else translator.model.target_embedding
    return to_array(matrix.weight), trace.source_ids if is_source else trace.decoder_input_ids
