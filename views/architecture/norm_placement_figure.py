"""Gradient norms by layer of freshly initialised models, pre-norm beside post-norm."""

from collections.abc import Sequence

import plotly.graph_objects as go

from transformer.experiments.initial_gradients import GradientNorms

_LOOKS = {"post": ("#c2570a", "dash", "diamond"), "pre": ("#1f77e0", "solid", "circle")}


def gradients_figure(measured: Sequence[GradientNorms], stack: str) -> go.Figure:
    """One line a norm: layers from the input to the output, norms on a logarithmic axis. `stack`: encoder or "
    "decoder."""
    figure = go.Figure()
    for each in measured:
        colour, dash, symbol = _LOOKS[each.norm]
        values = getattr(each, stack)
        figure.add_scatter(
            x=list(range(1, len(values) + 1)), y=values, name=f"{each.norm}-norm", mode="lines+markers",
            line={"color": colour, "dash": dash}, marker={"symbol": symbol, "size": 8},
            hovertemplate=f"{each.norm}-norm, layer %{{x}}: %{{y:.4f}}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title="layer, the last one stands next to the output", dtick=1)
    figure.update_yaxes(title="norm of the gradient of W₂", type="log")
    figure.update_layout(
        height=340,
        margin={"l": 10, "r": 10, "t": 30, "b": 40},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    )
    return figure


def describe_gradients(measured: Sequence[GradientNorms]) -> str:
    """How much larger the last decoder layer's gradient is than the first one's, for each norm, and why."""
    parts = [f"{each.norm}-norm {each.decoder[-1] / each.decoder[0]:.1f} times" for each in measured]
    return (
        f"From the decoder's first layer to its last the gradient is multiplied: {', '.join(parts)}. With post-norm "
        "the LayerNorm stands in the way back and shrinks the gradient layer by layer, so the layers next to the "
        "output get the largest steps, and a high rate at the start throws them off: hence the warm-up. With "
        "pre-norm a way without any LayerNorm leads through all layers (Xiong et al. 2020)."
    )
