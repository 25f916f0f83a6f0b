"""One step's logits and what temperature, top-k and top-p make of them."""

from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go

from plots.palette import signed, token_label
from transformer.decoding.sampling import Truncation

SHOWN = 20  # tokens of the vocabulary that are drawn, best first
BLUE, ORANGE = "#1f77e0", "#c2570a"


def logits_figure(cut: Truncation, name: Callable[[int], str]) -> go.Figure:
    """The largest logits, each with its token; `name` turns an id into the token's text."""
    ids = cut.order[:SHOWN]
    figure = go.Figure(
        go.Bar(
            x=cut.logits[ids], y=list(range(len(ids))), orientation="h", marker={"color": BLUE, "opacity": 0.75},
            text=[signed(value, 2) for value in cut.logits[ids]], textposition="auto",
            customdata=[[token_label(name(int(id))), int(id), cut.own[id]] for id in ids],
            hovertemplate="%{customdata[0]} (id %{customdata[1]})<br>logit %{x:.4f}"
            "<br>probability %{customdata[2]:.4f}<extra></extra>",
        )
    )  # fmt: skip
    return _named(figure, ids, name, "logit")


def cut_figure(cut: Truncation, name: Callable[[int], str]) -> go.Figure:
    """The probabilities of the same tokens: softmax of the logits as an outline, what is drawn from as a bar."""
    ids = cut.order[:SHOWN]
    places = list(range(len(ids)))
    words = [
        [token_label(name(int(id))), cut.own[id], cut.final[id], "kept" if cut.kept[id] else "cut off"] for id in ids
    ]
    hover = (
        "%{customdata[0]}, %{customdata[3]}<br>softmax of the logits %{customdata[1]:.4f}"
        "<br>drawn with %{customdata[2]:.4f}<extra></extra>"
    )
    symbols = ["diamond-open" if cut.kept[id] else "x-thin-open" for id in ids]
    figure = go.Figure()
    figure.add_bar(
        x=cut.final[ids], y=places, orientation="h", name="drawn from", customdata=words, hovertemplate=hover,
        marker={"color": BLUE, "opacity": 0.75},
    )  # fmt: skip
    figure.add_scatter(
        x=cut.own[ids], y=places, mode="markers", name="softmax of the logits", customdata=words, hovertemplate=hover,
        marker={"symbol": symbols, "size": 10, "color": ORANGE, "line": {"width": 2}},
    )  # fmt: skip
    figure.update_layout(legend={"orientation": "h", "y": 1.01, "yanchor": "bottom"}, barmode="overlay")
    figure.update_xaxes(range=[0, max(0.05, 1.08 * float(max(cut.final.max(), cut.own.max())))])
    return _named(figure, ids, name, "probability")


def _named(figure: go.Figure, ids: np.ndarray, name: Callable[[int], str], title: str) -> go.Figure:
    figure.update_yaxes(
        tickvals=list(range(len(ids))), ticktext=[token_label(name(int(id))) for id in ids], autorange="reversed"
    )
    figure.update_xaxes(title=title)
    figure.update_layout(height=90 + 24 * len(ids), margin={"l": 10, "r": 10, "t": 30, "b": 40})
    return figure
