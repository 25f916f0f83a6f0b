"""A token's walk through a stack: lengths and changes above, directions below."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from plots.palette import signed
from transformer.interpret.residual import Trajectory

BLUE, ORANGE, GREEN = "#1f77e0", "#c2570a", "#00795a"
_NAMES = {
    "embedding": "embedding", "positions": "+ position", "self_attention": "self-attention",
    "cross_attention": "cross-attention", "feed_forward": "feed-forward", "norm": "last LayerNorm",
}  # fmt: skip


def station_names(walk: Trajectory) -> list[str]:
    """What the stations are called: "layer 2 feed-forward"."""
    return [_NAMES[kind] if layer is None else f"layer {layer + 1} {_NAMES[kind]}" for kind, layer in walk.points]


def walk_figure(walk: Trajectory) -> go.Figure:
    """Two figures over the same stations: length of the vector and of what was added; cosine with home and with "
    "before."""
    names, places = station_names(walk), list(range(len(walk.points)))
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08, row_heights=[0.55, 0.45])
    figure.add_bar(
        x=places, y=walk.changes, name="length of what is added", marker={"color": ORANGE, "opacity": 0.6}, row=1,
        col=1,
        customdata=names, hovertemplate="%{customdata}: adds a vector of length %{y:.2f}<extra></extra>",
    )  # fmt: skip
    for values, name, colour, dash, row, says in (
        (walk.norms, "length of the vector", BLUE, "solid", 1, "length %{y:.2f}"),
        (walk.similarities, "cosine with its embedding", GREEN, "solid", 2, "cosine with its embedding %{y:.3f}"),
        (walk.turns, "cosine with the station before", BLUE, "dot", 2, "cosine with the station before %{y:.3f}"),
    ):
        figure.add_scatter(
            x=places, y=values, name=name, mode="lines+markers", line={"color": colour, "dash": dash}, row=row, col=1,
            customdata=names, hovertemplate=f"%{{customdata}}: {says}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(tickvals=places, ticktext=names, tickangle=-40, row=2, col=1)
    figure.update_yaxes(title="length", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title="cosine", range=[min(-0.1, float(np.min(walk.similarities)) - 0.05), 1.05], row=2, col=1)
    figure.update_layout(
        height=560,
        margin={"l": 10, "r": 10, "t": 30, "b": 120},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    )
    return figure


def describe_walk(walk: Trajectory, token: str) -> str:
    """Who moves the vector most, and how far from home it ends."""
    names = station_names(walk)
    inside = [place for place, (_, layer) in enumerate(walk.points) if layer is not None]
    turned = inside[int(np.argmin(walk.turns[inside]))]
    added = inside[int(np.argmax(walk.changes[inside]))]
    home = (
        "almost nothing of its embedding is left in its direction"
        if abs(walk.similarities[-1]) < 0.2
        else (
            "it still points the way of its embedding"
            if walk.similarities[-1] > 0.5
            else "it points somewhere else by now"
        )
    )
    cosines = signed(walk.turns[turned], 2), signed(walk.similarities[-1], 2)
    return (
        f"“{token}” is turned most by {names[turned]} (cosine {cosines[0]} with the station before); the longest "
        f"vector is added by {names[added]} ({walk.changes[added]:.1f} to {walk.norms[added - 1]:.1f}). In the end "
        f"its cosine with its embedding is {cosines[1]}: {home}."
    )
