"""Gradient norms by layer of freshly initialised models, pre-norm beside post-norm."""

from collections.abc import Sequence

import plotly.graph_objects as go

from plots.layout import laid_out
from plots.palette import BLUE, ORANGE
from transformer.experiments.initial_gradients import GradientNorms

_LOOKS = {"post": (ORANGE, "dash", "diamond"), "pre": (BLUE, "solid", "circle")}


def gradients_figure(measured: Sequence[GradientNorms], stack: str) -> go.Figure:
    """One line a norm, over the layers of the "encoder" or the "decoder", the gradient's norm on a logarithmic axis."""
    figure = go.Figure()
    for each in measured:
        colour, dash, symbol = _LOOKS[each.norm]
        values = getattr(each, stack)
        look = {"line": {"color": colour, "dash": dash}, "marker": {"symbol": symbol, "size": 8}}
        hover = f"{each.norm}-norm, layer %{{x}}: %{{y:.4f}}<extra></extra>"
        layers, name = list(range(1, len(values) + 1)), f"{each.norm}-norm"
        figure.add_scatter(x=layers, y=values, name=name, mode="lines+markers", hovertemplate=hover, **look)
    figure.update_xaxes(title="layer, the last one next to the output", dtick=1)
    figure.update_yaxes(title="norm of the gradient of W₂", type="log")
    return laid_out(figure, 340)
