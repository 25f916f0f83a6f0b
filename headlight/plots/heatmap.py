"""Heatmaps: rows are queries from top to bottom, keys stand above the columns, masked cells are blank."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, cos, isnan, radians, sin
from typing import Any

import numpy as np
import plotly.graph_objects as go

from headlight.language import texts_beside
from transformer.interpret.mask_ablation import MaskedHead
from transformer.interpret.trace import AttentionMap, RowLabel

from .layout import (
    CELL_LABEL,
    LABEL,
    TICK_ROOM,
    Theme,
    Values,
    as_written,
    bar_below,
    figure_of,
    row_titled,
    scatter,
    text_width,
    titled,
    token_axis,
    token_rows,
)
from .limits import MOST_CELLS
from .names import head_name, kind_name
from .numbers import format_probability, percent_in_cell
from .palette import LINE_GREY, PAGE_TEXT, SOLID_GREY, WEIGHT_SCALE, WEIGHTS, Scale, label_color
from .tokens import shown_tokens, token_label

BLANK = float("nan")
THIRD_OF_WIDTH = 345  # pixels, three maps side by side at a desk; a phone has more for one
HALF_OF_WIDTH = 460  # pixels, two maps side by side
EXTRA_COLUMNS = 2  # a gap, and a column beside the keys
text_of = texts_beside(__file__)

PLAIN_CELLS = "<b>%{z:.4f}</b><extra></extra>"  # of maps with too many cells for words each
_LARGEST_CELL = 36  # pixels
_TITLE_LETTER = 7  # pixels, of a title beside the rows
_BELOW_WITH_BAR, _BELOW_WITH_BARS = 82, 90  # pixels: the room of one colour bar below the cells, and of several
_LEAST_HIGH = 140  # pixels: Plotly moves the colour bar below rows that are not as high
_NARROWEST_ROOM = 120
_LENGTH_OF_BARS = 130  # pixels, all together
_SMALLEST_CELL_WITH_GRID = 10
_SMALLEST_CELL_WITH_TEXT = 24  # in smaller ones digits would have to shrink; hovering still shows the values

_TURNED = 60  # degrees, of the labels above the columns
# What Plotly adds up, in pixels: a line of labels, a title with its own gap, the edge of the figure.
_LINE, _TITLE_BESIDE, _TITLE_ABOVE, _MOST_EDGE = 16, 29, 30, 12
_GRID = {"color": LINE_GREY, "width": 1}
_OUTLINE = {"color": SOLID_GREY, "width": 2.5}


@dataclass(frozen=True)
class Cells:
    """Cells on one colour scale: values [rows, columns], the first column at `left`; NaN is blank.

    `hover` is a text for each cell, a Plotly template for all, or None; with `hover_blank` a blank cell has its text
    too; of more than MOST_CELLS each says its value alone. `bar` is the title of the colour bar, "" for none.
    """

    values: np.ndarray
    hover: Sequence[Sequence[str]] | np.ndarray | str | None
    scale: Scale = WEIGHTS
    bar: str = ""
    left: int = 0
    hover_blank: bool = False

    def trace(self, colour_bar: dict | None = None, gap: int = 0) -> dict:
        """Return the cells for `figure_of`, `gap` pixels apart."""
        cells = {"z": self.values.astype(np.float32), "x0": self.left, "dx": 1, "xgap": gap, "ygap": gap}
        colours = {"zmin": self.scale.low, "zmax": self.scale.high, "colorscale": self.scale.colours}
        bar = {"showscale": colour_bar is not None, "colorbar": colour_bar}
        hover: dict[str, Any] = {"hoverinfo": "skip" if self.hover is None else "text", "hoverongaps": self.hover_blank}
        if isinstance(self.hover, str):
            hover["hovertemplate"] = f"{self.hover}<extra></extra>"
        elif self.hover is not None and self.values.size > MOST_CELLS:
            hover["hovertemplate"] = PLAIN_CELLS
        elif self.hover is not None:  # as an array, since Plotly walks through lists twice, text by text
            hover["hovertext"] = np.array(self.hover, dtype=object)
        return {"type": "heatmap", **cells, **colours, **bar, **hover}

    def inks(self) -> Iterator[tuple[tuple[int, int], str]]:
        """Yield [row, column] of the cells on which digits in the page's colour are too weak, and a better colour."""
        if self.scale.colours is not WEIGHT_SCALE:
            return
        shares = (self.values - self.scale.low) / (self.scale.high - self.scale.low)
        for (row, column), share in np.ndenumerate(shares):
            if ink := label_color(share):
                yield (row, column + self.left), ink


@dataclass(frozen=True)
class Heatmap:
    """Cells over one another in one grid of square cells, tokens as they are beside the rows and above the columns.

    It fills `room` pixels of width, with its colour bars below.
    `texts` stand in the cells where they fit; `extra` names a column of its own, one cell to the right of the keys;
    `outline` is an SVG path around cells that stand out.
    """

    cells: tuple[Cells, ...]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    row_name: str
    key_name: str
    room: int
    texts: Sequence[Sequence[str]] = ()
    extra: str = ""
    outline: str = ""

    @property
    def columns(self) -> int:
        """Number of columns of the width, with the extra one."""
        return len(self.keys) + (EXTRA_COLUMNS if self.extra else 0)

    @cached_property
    def cell(self) -> float:
        """Side of a cell in pixels, with the row labels at a readable size beside them."""
        letters = max(map(text_width, shown_tokens(self.queries)))
        least = 4.0 if len(self.queries) * len(self.keys) <= MOST_CELLS else 0.5
        fitting = min(_LARGEST_CELL, max(least, (self.room - letters - 45) / len(self.keys)))
        return fitting * len(self.keys) / self.columns

    @property
    def height(self) -> int:
        """Height of the whole figure in pixels."""
        least = _LEAST_HIGH if self._has_bar_below else 0
        return round(max(least, len(self.queries) * self.cell) + self._above + self.below)

    @property
    def below(self) -> int:
        """Room of the colour bars below, in pixels."""
        bars = sum(bool(layer.bar) for layer in self.cells)
        return (_BELOW_WITH_BARS if bars > 1 else _BELOW_WITH_BAR) if self._has_bar_below else 10

    @property
    def _has_bar_below(self) -> bool:
        return any(layer.bar for layer in self.cells)

    @property
    def _above(self) -> float:
        letters = max(map(text_width, (*shown_tokens(self.keys), self.extra)))
        return letters + 40

    @property
    def margin(self) -> dict[str, int]:
        """Room around the cells in pixels for labels and titles.

        With less, Plotly makes that room when all is drawn, and then draws all once more.
        """
        keys = shown_tokens(self.keys)
        last = self.extra or (keys or [""])[-1]
        right = max(5, round(cos(radians(_TURNED)) * text_width(last)))
        edge = min(_MOST_EDGE, right, self.below)
        beside, above, beyond = (
            max(map(text_width, labels), default=0)
            for labels in (shown_tokens(self.queries), (*keys, self.extra), (last,))
        )
        high, long = sin(radians(_TURNED)), cos(radians(_TURNED))
        return {
            "l": ceil(edge + beside + TICK_ROOM + (_TITLE_BESIDE if self.row_title else 0)),
            "r": max(right, ceil(edge + long * beyond + high * _LINE / 2 - self.cell / 2) + 2),
            "t": ceil(edge + high * above + long * _LINE + TICK_ROOM + _TITLE_ABOVE),
            "b": self.below,
        }

    @property
    def row_title(self) -> str:
        """Name of the rows, or as much of it as fits beside them."""
        fitting = (len(self.queries) * self.cell + _BELOW_WITH_BAR) / _TITLE_LETTER
        titles = self.row_name, self.row_name.split(":")[0], text_of("row")
        return next((title for title in titles if len(title) <= fitting), "")

    def within(self, side: int) -> "Heatmap":
        """Return the heatmap in the largest room that keeps it within a square of `side` pixels, if one does."""
        rooms = (replace(self, room=room) for room in range(side, _NARROWEST_ROOM, -4))
        return next((heatmap for heatmap in rooms if heatmap.height <= side), replace(self, room=_NARROWEST_ROOM))

    @property
    def has_texts(self) -> bool:
        """True if the texts fit into the cells."""
        return len(self.texts) > 0 and self.cell >= _SMALLEST_CELL_WITH_TEXT


def heatmap_figure(heatmap: Heatmap, theme: Theme) -> go.Figure:
    """Draw a heatmap, with numbers in cells that are large enough."""
    gap = 1 if heatmap.cell >= _SMALLEST_CELL_WITH_GRID else 0
    traces = [layer.trace(_colour_bar(heatmap, layer), gap) for layer in heatmap.cells]
    if heatmap.has_texts:
        traces.append(_texts(heatmap))
    shapes = [cell_lines(len(heatmap.queries), len(heatmap.keys), inner=gap > 0)]
    if heatmap.outline:
        shapes.append({"type": "path", "path": heatmap.outline, "line": _OUTLINE})
    columns = (*heatmap.keys, "", heatmap.extra) if heatmap.extra else heatmap.keys
    look: dict[str, Any] = {
        "meta": {"rows": heatmap.queries, "columns": columns},
        "margin": heatmap.margin,
        "shapes": shapes,
    }
    x, y = _axes(heatmap)
    return figure_of(traces, heatmap.height, theme=theme, x=x, y=y, hovermode="closest", showlegend=False, **look)


def _axes(heatmap: Heatmap) -> tuple[dict, dict]:
    every = ceil(LABEL / (int(heatmap.cell) or heatmap.cell))  # rows and columns per label, 1 where there is room
    keys = token_axis(heatmap.keys, every=every)
    if heatmap.extra:
        keys["tickvals"].append(len(heatmap.keys) + 1)
        keys["ticktext"].append(token_label(heatmap.extra))
    above = {"side": "top", "tickangle": -_TURNED, "range": [-0.5, heatmap.columns - 0.5], "constraintoward": "left"}
    beside = {"scaleanchor": "x", "constraintoward": "top", "title": row_titled(heatmap.row_title)}
    x = {**keys, **above, "title": titled(heatmap.key_name), "constrain": "domain"}
    return x, {**token_rows(heatmap.queries, every=every), **beside, "constrain": "domain"}


def _colour_bar(heatmap: Heatmap, layer: Cells) -> dict | None:
    if not layer.bar:
        return None
    bars = [each.bar for each in heatmap.cells if each.bar]
    left = bars.index(layer.bar) / len(bars)
    return bar_below(layer.bar, layer.scale, left=left, length=_LENGTH_OF_BARS // len(bars))


def _texts(heatmap: Heatmap) -> dict:
    """Return texts in the middle of their cells, in the page's own colour or one that is legible on the cell."""
    filled = [(row, column, text) for row, line in enumerate(heatmap.texts) for column, text in enumerate(line) if text]
    rows, columns, texts = ([cell[part] for cell in filled] for part in range(3))
    inks = {cell: ink for layer in heatmap.cells for cell, ink in layer.inks()}
    font: dict[str, Any] = {"size": CELL_LABEL}
    if inks:
        font["color"] = [inks.get((row, column), PAGE_TEXT) for row, column, _ in filled]
    return scatter(columns, rows, "text", text=texts, textfont=font, hoverinfo="skip")


def cell_lines(rows: int, columns: int, first: int = 0, *, inner: bool = True) -> dict:
    """Return a shape: lines around cells [rows, columns] from column `first` on, or their frame alone.

    Without them a cell of almost nothing could not be told from the page.
    """
    left, right = first - 0.5, first + columns - 0.5
    across = range(rows + 1) if inner else (0, rows)
    down = range(first, first + columns + 1) if inner else (first, first + columns)
    lines = [f"M{left},{row - 0.5}L{right},{row - 0.5}" for row in across]
    lines += [f"M{column - 0.5},-0.5L{column - 0.5},{rows - 0.5}" for column in down]
    return {"type": "path", "path": "".join(lines), "layer": "below", "line": _GRID}


def plain_maps(figure: go.Figure) -> list[tuple[int, int]]:
    """Return rows and columns of the maps in a figure with too many cells for words each."""
    maps = (part for part in as_written(figure)["data"] if part.get("hovertemplate") == PLAIN_CELLS)
    return [(len(part["z"]), len(part["z"][0])) for part in maps]


def map_title(shown: AttentionMap) -> str:
    """Return the title of a map, averages named as such: "Cross-attention: layer 3, head 2"."""
    head = head_name(shown.layer, shown.head, shown.layers, shown.heads)
    return text_of("title", kind=kind_name(shown.kind), head=head)


def weight_texts(weights: np.ndarray) -> list[list[str]]:
    """Return whole percents for each cell, nothing for a blank one."""
    return [["" if isnan(weight) else percent_in_cell(weight) for weight in row] for row in weights.tolist()]


def weight_words(weights: np.ndarray, name: str | None = None) -> list[list[str]]:
    """Return the hover text of each cell: "weight 94.1 %"."""
    name = text_of("weight") if name is None else name
    return [
        ["" if isnan(weight) else f"{name}<b>{format_probability(weight)}</b>" for weight in row]
        for row in weights.tolist()
    ]


def hover_texts(
    rows: Sequence[str], keys: Sequence[str], cells: Sequence[Sequence[str]], relation: str = "attends_to"
) -> list[list[str]]:
    """Return for each cell its row, given in words, the key that the row attends to, and the cell's own text."""
    names = [text_of(relation, key=token_label(key)) for key in keys]
    return cell_texts(lambda row, name, cell: f"{row}{name}{cell}", rows, names, cells)


def cell_texts(write: Callable[..., str], rows: Iterable, columns: Values, values: Iterable) -> list[list[str]]:
    """Return write(row, column, value) for each cell, with the names of `rows` and `columns`."""
    return [
        [write(row, *each) for each in zip(columns, line, strict=True)] for row, line in zip(rows, values, strict=True)
    ]


def axis_names(kind: str, row_label: str) -> tuple[str, str]:
    """Return the titles beside the rows and above the columns of a map of this kind."""
    key_name = text_of("input_key" if kind == "decoder" else "source_key")
    return text_of("source_query" if kind == "encoder" else f"row_{RowLabel(row_label)}"), key_name


def row_words(chosen: AttentionMap | MaskedHead, row: int) -> str:
    """Return a row in words: the source token, or the decoder's input token and output token."""
    if chosen.predicted is None:
        return f"“{token_label(chosen.fed[row])}”"
    return text_of("row_words", fed=token_label(chosen.fed[row]), predicted=token_label(chosen.predicted[row]))
