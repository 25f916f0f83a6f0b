"""Figures of relative positions: the addition of each head to a score over distance, and between tokens."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from headlight.language import texts_beside
from transformer.interpret.relative_positions import RelativeBias

from .heatmap import Cells
from .layout import GRID, LEFT, LEGEND_BELOW, Theme, bar_below, figure_of, scatter, titled
from .palette import GROUND_GREY, SERIES_COLOURS, SOLID_GREY, diverging
from .tokens import shown_tokens, token_label

_DASHES = ("solid", "dash", "dot", "dashdot")  # of one colour, from every eighth head to the next
MOST_TOKENS = 96  # of a sentence whose map is drawn
_NAMED = 40  # tokens: of longer sentences positions alone stand beside the map
_text = texts_beside(__file__)


def distance_words(distances: Sequence[int] | np.ndarray, furthest: int | None = None) -> str:
    """Name distances in a row: "the token before", "3 to 4 tokens after", "91 or more tokens after".

    `furthest` is the largest known distance, beyond which a bucket that reaches it goes on.
    """
    if not np.any(distances):
        return _text("itself")
    far = np.abs(distances)
    least, most, side = int(far.min()), int(far.max()), "after" if max(distances) > 0 else "before"
    name = "or_more" if most == furthest else "next" if most == 1 else "exactly" if least == most else "between"
    return _text(f"{name}_{side}", least=least, most=most)


def bias_curves(bias: RelativeBias, chosen: int, reach: int, *, theme: Theme = "paper") -> go.Figure:
    """Draw each head's number over distance, up to `reach`, the chosen head's line thick, counted from 0.

    `bias`: of `transformer.interpret.relative_positions.relative_bias`.
    Distances that share a bucket share a number: every second bucket has a faint ground.
    """
    distances = bias.distances[np.abs(bias.distances) <= reach]
    numbers, buckets = bias.at(distances)
    traces = []
    for head, line in sorted(enumerate(numbers), key=lambda each: each[0] == chosen):  # the chosen one on top
        colour = SERIES_COLOURS[head % len(SERIES_COLOURS)]
        dash = _DASHES[head // len(SERIES_COLOURS) % len(_DASHES)]
        stroke = {"color": colour, "width": 4 if head == chosen else 1.5, "dash": dash, "shape": "hvh"}
        name = _text("head", head=head + 1)
        named = {"name": name, "legendrank": head + 1, "opacity": 1 if head == chosen else 0.7}
        data = {"customdata": buckets.astype(np.int16), "hovertemplate": _text("curve_hover", head=name)}
        traces.append(
            scatter(distances.astype(np.int16), line.astype(np.float32), "lines", line=stroke, **named, **data)
        )
    edge = reach + 0.5
    x = {
        **GRID,
        "title": titled(_text("distance")),
        "range": [-edge, edge if bias.both_ways else 0.5],
    }
    y = {**GRID, "title": _text("added"), "zeroline": True, "zerolinecolor": SOLID_GREY}
    look: dict[str, Any] = {
        "showlegend": True,
        "legend": LEGEND_BELOW,
        "hoverlabel": LEFT,
        "shapes": _grounds(distances, buckets),
    }
    return figure_of(traces, 400, theme=theme, x=x, y=y, top=10, bottom=90, **look)


def _grounds(distances: np.ndarray, buckets: np.ndarray) -> list[dict]:
    """Return a faint ground behind every second bucket."""
    starts = [0, *(np.flatnonzero(np.diff(buckets)) + 1)]
    ends = [*starts[1:], len(buckets)]
    look = {"type": "rect", "xref": "x", "yref": "y domain", "y0": 0, "y1": 1, "layer": "below", "line": {"width": 0}}
    return [
        {**look, "x0": int(distances[start]) - 0.5, "x1": int(distances[end - 1]) + 0.5, "fillcolor": GROUND_GREY}
        for start, end in list(zip(starts, ends, strict=True))[1::2]
    ]


def bias_map(
    bias: RelativeBias, head: int, tokens: Sequence[str], first: int, limit: float, *, theme: Theme = "paper"
) -> go.Figure:
    """Draw the addition of a head to the score of each query and key of a sentence that begins at position `first`.

    Of a longer sentence than MOST_TOKENS its first tokens; colours around 0 up to `limit`; masked cells are blank.
    """
    shown = tokens[:MOST_TOKENS]
    places = range(first, first + len(shown))
    numbers, buckets = bias.between(places, places)
    values = numbers[head].astype(np.float32)
    if not bias.both_ways:
        values = np.where(np.tri(len(shown), dtype=bool), values, np.nan)
    scale = diverging(limit)
    cells = Cells(values, _text("map_hover"), scale, left=first).trace(bar_below(_text("added"), scale, length=200))
    cells |= {"y0": first, "dy": 1, "customdata": buckets.astype(np.int16)}
    every = 1 if len(shown) <= _NAMED else 8
    named = list(zip(shown_tokens(shown), places, strict=True))[::every]
    labels = [f"{token_label(token)} · {position}" if every == 1 else str(position) for token, position in named]
    axis = {"tickvals": list(places)[::every], "ticktext": labels, "showgrid": False, "zeroline": False}
    square = {"automargin": True, "constrain": "domain"}
    ends = (first - 0.5, first + len(shown) - 0.5)
    x = {**axis, **square, "side": "top", "tickangle": -60, "range": list(ends), "title": titled(_text("key"))}
    y = {**axis, **square, "range": [ends[1], ends[0]], "scaleanchor": "x", "constraintoward": "top"}
    height = 210 + min(420, max(150, 22 * len(shown)))
    return figure_of([cells], height, theme=theme, x=x, y=y, top=10, bottom=60)
