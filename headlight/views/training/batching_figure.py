"""Batches drawn: each token a cell, padding hatched; and how much of every batch is padding."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from headlight.plots.heatmap import BLANK
from headlight.plots.layout import GRID, SMALLEST_LABEL, figure_of, scatter, titled
from headlight.plots.palette import SERIES_COLOURS
from headlight.plots.text import token_label

WAYS = ("by length", "at random")

_ROOM_OF_A_HALF = 460  # pixels for the cells at a desk
_TALLEST, _ROW_HEIGHTS = 760, (4, 24)  # pixels
_SMALLEST_ROW_WITH_TEXT, _FEWEST_LETTERS, _LETTER = 15, 5, 7.5  # pixels, letters, pixels
_TOKEN, _END = "rgba(31, 119, 224, 0.42)", "rgba(31, 119, 224, 0.72)"
_TOKENS = [[0.0, _TOKEN], [0.5, _TOKEN], [0.5, _END], [1.0, _END]]
_FRAME = {"color": "rgba(128, 128, 128, 0.6)", "width": 1}
_HATCH = {"color": "rgba(128, 128, 128, 0.55)", "width": 1}
_CHOSEN = {"color": SERIES_COLOURS[1], "width": 2.5}


def batch_figure(
    tokens: Sequence[Sequence[str]], lengths: Sequence[int], end: str, side: str, chosen: int
) -> go.Figure:
    """One side of a batch: rows are sentences from top to bottom, columns positions, both counted from 1.

    tokens: [sentences, longest], of each sentence the first `lengths` real, the rest padding, which is hatched.
    The token `end` is of a stronger colour; a frame is around the sentence `chosen`, counted from 0.
    """
    rows, columns = len(tokens), len(tokens[0])
    low, high = _ROW_HEIGHTS
    height = min(high, max(low, _TALLEST / rows))
    cells = {**_cells(tokens, lengths, end, side), "xgap": 1, "ygap": 1 if height > 2 * low else 0}
    x = _axis(columns, f"{side} position", "top", [0.4, columns + 0.6])
    y = _axis(rows, "sentence", "left", [rows + 0.6, 0.4])
    layout = {
        "shapes": [
            {"type": "path", "path": _hatching(columns, lengths), "line": _HATCH, "layer": "below"},
            {"type": "path", "path": _box(0, rows, columns), "line": _FRAME, "layer": "below"},
            {"type": "path", "path": _box(chosen, chosen + 1, columns), "line": _CHOSEN},
        ],
        "margin": {"l": 5, "r": 5, "t": 5, "b": 5},
        "showlegend": False,
    }
    traces = [cells, *_texts(tokens, lengths, height)]
    return figure_of(traces, round(rows * height) + 70, x=x, y=y, legend=None, **layout)


def ratios_figure(ratios: dict[str, Sequence[float]], chosen: tuple[str, float]) -> go.Figure:
    """The padding ratio of every batch by way of batching, least first; way and ratio of the `chosen` are ringed."""
    traces = []
    looks = zip(SERIES_COLOURS, ("circle", "diamond"), ("solid", "dash"), strict=False)
    for (name, values), (colour, symbol, dash) in zip(ratios.items(), looks, strict=False):
        what = f"batched {name}<br>batch %{{x}} of {len(values)} by its padding"
        look = {
            "line": {"color": colour, "width": 2, "dash": dash},
            "marker": {"color": colour, "symbol": symbol, "size": 9},
            "name": f"batched {name}",
            "hovertemplate": f"{what}<br>padding <b>%{{y:.1%}}</b><extra></extra>",
        }
        numbers = np.arange(1, len(values) + 1, dtype=np.int16)
        traces.append(scatter(numbers, np.sort(values).astype(np.float32), "lines+markers", **look))
    way, ratio = chosen
    place = int(np.searchsorted(np.sort(ratios[way]), ratio)) + 1
    ring = {"symbol": "circle-open", "size": 18, "color": "rgb(128, 128, 128)", "line": {"width": 2.5}}
    traces.append(scatter([place], [ratio], "markers", marker=ring, name="the batch above", hoverinfo="skip"))
    most = max(map(len, ratios.values()))
    x = {**GRID, "title": "batches of the epoch, least padding first", "range": [0, most + 1]}
    y = {**GRID, "title": "share of padding", "tickformat": ".0%", "rangemode": "tozero"}
    return figure_of(traces, 360, x=x, y=y, top=10, bottom=10, hoverlabel={"align": "left"})


def _cells(tokens: Sequence[Sequence[str]], lengths: Sequence[int], end: str, side: str) -> dict:
    """A cell for each token, blank where padding is; hovering names either."""
    z = [
        [float(token == end) if place < length else BLANK for place, token in enumerate(row)]
        for row, length in zip(tokens, lengths, strict=True)
    ]
    steps = {"x0": 1, "dx": 1, "y0": 1, "dy": 1}
    colours = {"zmin": 0, "zmax": 1, "colorscale": _TOKENS, "showscale": False}
    hover = f"sentence %{{y}}, {side} position %{{x}}<br><b>%{{text}}</b><extra></extra>"
    texts = [[token_label(token) for token in row] for row in tokens]
    z = np.array(z, dtype=np.float32)
    shown = {"text": texts, "hovertemplate": hover, "hoverongaps": True}
    return {"type": "heatmap", "z": z, **shown, **steps, **colours}


def _texts(tokens: Sequence[Sequence[str]], lengths: Sequence[int], height: float) -> list[dict]:
    """The tokens in their cells, cut to what fits; nothing where only a few letters would. Hovering has them whole."""
    letters = int(_ROOM_OF_A_HALF / len(tokens[0]) / _LETTER)
    if height < _SMALLEST_ROW_WITH_TEXT or letters < _FEWEST_LETTERS:
        return []
    places = [
        (column, row, token_label(token if len(token) <= letters else f"{token[: letters - 1]}…"))
        for row, (line, length) in enumerate(zip(tokens, lengths, strict=True), start=1)
        for column, token in enumerate(line[:length], start=1)
    ]
    x, y, text = map(list, zip(*places, strict=True))
    return [scatter(x, y, "text", text=text, textfont={"size": SMALLEST_LABEL}, hoverinfo="skip")]


def _axis(count: int, name: str, side: str, limits: list[float]) -> dict:
    """Whole numbers from 1, not more of them than are read."""
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200) if count / step <= 16 or step == 200)
    ticks = sorted({1, *range(step, count + 1, step)}) if step > 1 else list(range(1, count + 1))
    look = {"showgrid": False, "zeroline": False, "automargin": True}
    return {"title": titled(name, 6), "tickvals": ticks, "side": side, "range": limits, **look}


def _hatching(columns: int, lengths: Sequence[int]) -> str:
    """A stroke across each cell of padding."""
    return "".join(
        f"M{column - 0.5},{row + 0.5}L{column + 0.5},{row - 0.5}"
        for row, length in enumerate(lengths, start=1)
        for column in range(length + 1, columns + 1)
    )


def _box(first: int, last: int, columns: int) -> str:
    """Around the rows from `first` to before `last`, counted from 0."""
    right, top, bottom = columns + 0.5, first + 0.5, last + 0.5
    return f"M0.5,{top}L{right},{top}L{right},{bottom}L0.5,{bottom}Z"
