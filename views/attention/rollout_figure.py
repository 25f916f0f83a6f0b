"""Attention rollout: shares of input tokens beside the raw weights, and how much of each step is source or prefix."""

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from plots.heatmap import BLANK, ROW_NAMES, Labels, cells_figure, cells_heatmap, colour_bar, row_words
from plots.palette import WEIGHT_SCALE, short_weight, token_label
from transformer.interpret.rollout import Rollout
from transformer.interpret.trace import AttentionMap, Trace, attention_map
from views.masks.figures import ROOM_OF_A_HALF

KINDS = {"across both": "cross", "encoder": "encoder", "decoder": "decoder"}
VERBS = {"weight": "reads “{key}” with weight", "share": "has of “{key}” the share"}

_KEY_NAMES = {"encoder": "source token", "decoder": "target token fed", "cross": "source token"}
# Blue, orange and grey, hatched differently: no colour vision is needed to tell them apart.
_PARTS = (
    ("source", "rgb(31, 119, 224)", ""),
    ("earlier fed tokens", "rgb(232, 113, 10)", "/"),
    ("the token fed in this step", "rgb(128, 128, 128)", "x"),
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
    """One of both maps, coloured from 0 to its largest value; `name` is what a cell holds, one of VERBS."""
    reach = reach_of(chosen)
    hover = [
        [
            f"{row_words(chosen, row)}<br>{VERBS[name].format(key=token_label(key))} <b>{value:.4f}</b>"
            for key, value in zip(chosen.keys, values, strict=True)
        ]
        for row, values in enumerate(chosen.weights)
    ]
    bar = colour_bar(name, [0, np.floor(reach * 100) / 100])
    heatmap = cells_heatmap(chosen.weights, WEIGHT_SCALE, (0, reach), hover, bar=bar, gaps=False)
    texts = [["" if np.isnan(value) else short_weight(value) for value in values] for values in chosen.weights]
    row_name = "source token" if chosen.kind == "encoder" else ROW_NAMES[chosen.row_label]
    labels = Labels(chosen.queries, chosen.keys, row_name, _KEY_NAMES[chosen.kind], ROOM_OF_A_HALF)
    return cells_figure([heatmap], labels, texts)


def reach_of(chosen: AttentionMap) -> float:
    """The largest value of a map, where its colour scale ends."""
    return float(np.nanmax(chosen.weights))


def parts_of_steps(rollout: Rollout, layer: int) -> np.ndarray:
    """Of each decoder row the shares of the source, of earlier fed tokens, and of the one fed there: [target, 3]."""
    shares = rollout.across[layer]
    prefix = shares[:, rollout.encoder.shape[-1] :]
    own = np.diagonal(prefix)
    return np.stack([rollout.source_share()[layer], prefix.sum(axis=-1) - own, own], axis=1)


def parts_figure(trace: Trace, rollout: Rollout, layer: int) -> go.Figure:
    """One bar a step of the decoder, from top to bottom, cut into the three parts."""
    parts, steps = parts_of_steps(rollout, layer), len(trace.fed_tokens)
    names = [
        f"{token_label(fed)} → {token_label(following)}"
        for fed, following in zip(trace.fed_tokens, trace.next_tokens, strict=True)
    ]
    bars = [
        go.Bar(
            x=parts[:, place].astype(np.float32), y=np.arange(steps), orientation="h", name=part, width=0.78,
            marker={"color": colour, "opacity": 0.75, "pattern": {"shape": shape, "fillmode": "overlay", "size": 5}},
            hovertext=[
                f"Step {step + 1}: fed “{token_label(trace.fed_tokens[step])}”, predicting "
                f"“{token_label(trace.next_tokens[step])}”<br>{part}: <b>{parts[step, place]:.4f}</b>"
                for step in range(steps)
            ],
            hoverinfo="text",
        )
        for place, (part, colour, shape) in enumerate(_PARTS)
    ]  # fmt: skip
    height = max(_LEAST_BAR, min(_BAR_HEIGHT, 900 // steps))
    return go.Figure(
        bars,
        {
            "barmode": "stack",
            "xaxis": {"range": [0, 1], "side": "top", "title": {"text": "share of the row", "standoff": 8}},
            "yaxis": {
                "tickvals": list(range(steps)), "ticktext": names, "range": [steps - 0.5, -0.5], "showgrid": False,
                "automargin": True, "title": {"text": "step: token fed → next token", "standoff": 8},
            },
            "legend": {
                "orientation": "h", "traceorder": "normal", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom",
            },
            "height": steps * height + 150,
            "margin": {"l": 10, "r": 15, "t": 10, "b": 70},
        },
    )  # fmt: skip
