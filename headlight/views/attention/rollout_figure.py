"""Attention rollout: shares of input tokens beside the raw weights, and how much of each step is source or prefix."""

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from headlight.plots.heatmap import (
    BLANK,
    ROOM_OF_A_HALF,
    Cells,
    Heatmap,
    axis_names,
    heatmap_figure,
    hover_texts,
    row_words,
    weight_texts,
)
from headlight.plots.layout import LEGEND_BELOW, figure_of, row_bars, titled, token_rows
from headlight.plots.palette import BLUE, BRIGHT_ORANGE, GREY, WEIGHT_SCALE, Scale
from headlight.plots.text import token_label
from transformer.interpret.rollout import Rollout
from transformer.interpret.trace import AttentionMap, Trace, attention_map

KINDS = {"across both": "cross", "encoder": "encoder", "decoder": "decoder"}
RELATIONS = {"weight": "attends to", "share": "share of"}  # what a cell holds -> how the hover text names its key

# Hatched differently: no colour vision is needed to tell them apart.
_PARTS = (
    ("source", BLUE, ""),
    ("earlier input tokens", BRIGHT_ORANGE, "/"),
    ("the input token of this step", GREY, "x"),
)
_BAR_HEIGHT = 22  # pixels; smaller for long sentences
_LEAST_BAR = 13


def raw_and_rolled(trace: Trace, rollout: Rollout, kind: str, layer: int, rows: str) -> tuple[AttentionMap, ...]:
    """The mean over the heads of a layer, counted from 0, and the shares after it, as two maps of the same tokens.

    `kind` is one of KINDS' values; of "cross" the shares are those of source tokens, and a row sums to what it has of
    the source. What comes later than a decoder row is NaN in both.
    """
    raw = attention_map(trace, kind, layer, None, rows)
    if kind == "cross":
        shares = rollout.across[layer][:, : len(trace.source_tokens)]
    else:
        shares = np.where(np.isnan(raw.weights), BLANK, getattr(rollout, kind)[layer])
    return raw, replace(raw, weights=shares)


def shares_figure(chosen: AttentionMap, name: str) -> go.Figure:
    """One of both maps, coloured from 0 to its largest value; `name` is what a cell holds, one of RELATIONS."""
    limit = limit_of(chosen)
    rows = [row_words(chosen, row) for row in range(len(chosen.weights))]
    values = [[f"<b>{value:.4f}</b>" for value in row] for row in chosen.weights.tolist()]
    scale = Scale(WEIGHT_SCALE, 0, limit, (0, limit), ".2f")
    cells = Cells(chosen.weights, hover_texts(rows, chosen.keys, values, RELATIONS[name]), scale, name)
    names = axis_names(chosen.kind, chosen.row_label)
    texts = weight_texts(chosen.weights)
    return heatmap_figure(Heatmap((cells,), chosen.queries, chosen.keys, *names, ROOM_OF_A_HALF, texts))


def limit_of(chosen: AttentionMap) -> float:
    """The largest value of a map, where its colour scale ends."""
    return float(np.nanmax(chosen.weights))


def parts_of_steps(rollout: Rollout, layer: int) -> np.ndarray:
    """Of each decoder row the shares of the source, of earlier input tokens, and of its own: [target, 3]."""
    shares = rollout.across[layer]
    prefix = shares[:, rollout.encoder.shape[-1] :]
    own = np.diagonal(prefix)
    return np.stack([rollout.source_share()[layer], prefix.sum(axis=-1) - own, own], axis=1)


def parts_figure(trace: Trace, rollout: Rollout, layer: int) -> go.Figure:
    """One bar a step of the decoder, from top to bottom, divided into the three parts."""
    parts, steps = parts_of_steps(rollout, layer), len(trace.fed_tokens)
    fed, following = ([token_label(token) for token in tokens] for tokens in (trace.fed_tokens, trace.next_tokens))
    traces = []
    for place, (part, colour, shape) in enumerate(_PARTS):
        hover = [
            f"Step {step + 1}: input token “{fed[step]}”, output token “{following[step]}”<br>"
            f"{part}: <b>{parts[step, place]:.4f}</b>"
            for step in range(steps)
        ]
        bars = row_bars(parts[:, place].astype(np.float32), hover, colour, part)
        pattern = {"shape": shape, "fillmode": "overlay", "size": 5}
        traces.append(bars | {"width": 0.78, "marker": {**bars["marker"], "pattern": pattern}})
    names = [f"{token} → {after}" for token, after in zip(trace.fed_tokens, trace.next_tokens, strict=True)]
    x = {"range": [0, 1], "side": "top", "title": titled("share of the row")}
    y = {**token_rows(names), "title": titled("step: input token → output token")}
    height = steps * max(_LEAST_BAR, min(_BAR_HEIGHT, 900 // steps)) + 150
    legend = {**LEGEND_BELOW, "traceorder": "normal"}
    return figure_of(traces, height, x=x, y=y, top=10, bottom=70, legend=legend, barmode="stack")
