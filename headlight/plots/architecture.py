"""Figures of the architecture: hidden units and neighbours of embeddings."""

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go

from headlight.language import texts_beside
from transformer.config import Activation

from .layout import Theme, bars, candidate_rows, figure_of, label_axis, row_bars
from .numbers import signed
from .palette import BLUE
from .tokens import token_label

ACTIVATION_NAMES = {
    Activation.RELU: "ReLU",
    Activation.GELU: "GELU",
    Activation.GELU_NEW: "GELU",
    Activation.SILU: "SiLU",
}

_text = texts_beside(__file__)
_UNITS = 24  # hidden units that are drawn


def nearest_tokens(
    neighbours: Sequence[tuple[int, float]], name: Callable[[int], str], *, theme: Theme = "paper"
) -> go.Figure:
    """Draw the tokens whose embeddings have the largest cosine with that of a token.

    `neighbours`: of `transformer.interpret.parameters.nearest`; `name`: of an id the token's text.
    """
    tokens, cosines = [name(id) for id, _ in neighbours], [cosine for _, cosine in neighbours]
    hover = [_text("neighbour", token=token_label(name(id)), id=id, cosine=signed(cosine)) for id, cosine in neighbours]
    traces = [row_bars(cosines, hover, BLUE, texts=[signed(cosine, 3) for cosine in cosines])]
    x = {"title": _text("cosine"), "range": [min(0.0, cosines[-1]), 1]}
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
    gates, values = (units, units) if parts is None else parts
    name = "plain" if parts is None else "gated"
    title = _text(name, activation=activation)
    hover = [
        _text(
            f"{name}_unit",
            unit=unit + 1,
            result=signed(units[unit]),
            gate=signed(gates[unit]),
            value=signed(values[unit]),
        )
        for unit in order
    ]
    look = {"marker": {"color": BLUE, "opacity": 0.75}, "hovertext": hover, "hoverinfo": "text"}
    x = {**label_axis([str(unit + 1) for unit in order]), "title": _text("hidden_unit")}
    traces = [bars(list(range(len(order))), units[order], **look)]
    return figure_of(traces, 300, theme=theme, x=x, y={"title": title}, top=10, bottom=60)
