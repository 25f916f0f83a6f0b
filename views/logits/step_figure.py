"""One step's logits, and the sampling distribution that temperature, top-k and top-p make of them."""

from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go

from plots.layout import laid_out, row_bars, token_rows
from plots.palette import BLUE, ORANGE
from plots.text import signed, token_label
from transformer.decoding.sampling import Truncation

SHOWN = 20  # tokens of the vocabulary that are drawn, best first


def logits_figure(cut: Truncation, name: Callable[[int], str]) -> go.Figure:
    """The largest logits, each with its token; `name` turns an id into the token's text."""
    ids = cut.order[:SHOWN]
    hover = [
        f"{token_label(name(int(id)))} (id {id})<br>logit {cut.logits[id]:.4f}<br>probability {cut.own[id]:.4f}"
        for id in ids
    ]
    bars = row_bars(cut.logits[ids], hover, BLUE, texts=[signed(value, 2) for value in cut.logits[ids]])
    return _named(go.Figure(bars), ids, name, "logit")


def cut_figure(cut: Truncation, name: Callable[[int], str]) -> go.Figure:
    """The probabilities of the same tokens: softmax of the logits as markers, the sampling distribution as bars."""
    ids = cut.order[:SHOWN]
    hover = [
        f"{token_label(name(int(id)))}, {'kept' if cut.kept[id] else 'truncated'}<br>softmax of the logits "
        f"{cut.own[id]:.4f}<br>sampling distribution {cut.final[id]:.4f}"
        for id in ids
    ]
    symbols = ["diamond-open" if cut.kept[id] else "x-thin-open" for id in ids]
    marker = {"symbol": symbols, "size": 10, "color": ORANGE, "line": {"width": 2}}
    diamonds = go.Scatter(x=cut.own[ids], y=list(range(len(ids))), mode="markers", name="softmax of the logits")
    diamonds.update(marker=marker, hovertext=hover, hoverinfo="text")
    figure = go.Figure([row_bars(cut.final[ids], hover, BLUE, "sampling distribution"), diamonds])
    figure.update_xaxes(range=[0, max(0.05, 1.08 * float(max(cut.final.max(), cut.own.max())))])
    return _named(figure, ids, name, "probability")


def _named(figure: go.Figure, ids: np.ndarray, name: Callable[[int], str], title: str) -> go.Figure:
    figure.update_yaxes(**token_rows([name(int(id)) for id in ids], grid=True))
    figure.update_xaxes(title=title)
    return laid_out(figure, 90 + 24 * len(ids))
