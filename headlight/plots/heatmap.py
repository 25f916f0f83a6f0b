"""Heatmaps: rows are queries from top to bottom, keys stand above the columns, masked cells are blank."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, cos, isnan, radians, sin
from typing import Any

import numpy as np
import plotly.graph_objects as go

from transformer.interpret.mask_ablation import MaskedHead
from transformer.interpret.trace import AttentionMap, RowLabel

from .layout import (
    ROOM_OF_A_TICK,
    SMALLEST_LABEL,
    Values,
    as_written,
    bar_below,
    bar_beside,
    figure_of,
    row_titled,
    scatter,
    text_width,
    titled,
    token_axis,
    token_rows,
)
from .limits import MOST_CELLS
from .names import KIND_NAMES, head_name, sentence_case
from .numbers import short_weight
from .palette import (
    BLUE,
    LINE_GREY,
    PAGE_TEXT,
    SOLID_GREY,
    WEIGHT_SCALE,
    WEIGHTS,
    Scale,
    label_color,
    see_through,
)
from .tokens import shown_tokens, token_label

BLANK = float("nan")
ROOM_OF_A_THIRD = 345  # pixels, three maps side by side at a desk; a phone has more for one
ROOM_OF_A_HALF = 460  # pixels, two maps side by side
EXTRA_COLUMNS = 2  # a gap, and a column beside the keys
INPUT_KEY = "key: decoder input token"
ROW_NAMES = {
    RowLabel.BOTH: "input → output token",
    RowLabel.PREDICTED: "output token",
    RowLabel.FED: "input token",
}

PLAIN_CELLS = "<b>%{z:.4f}</b><extra></extra>"  # of maps with too many cells for words each
_LARGEST_CELL = 36  # pixels
_TITLE_LETTER = 7  # pixels, of a title beside the rows
_BELOW_WITH_BAR, _BELOW_WITH_BARS = 82, 90  # pixels: the room of one colour bar below the cells, and of several
_LEAST_HIGH = 140  # pixels: Plotly moves the colour bar below rows that are not as high
_NARROWEST_ROOM = 120
_LONGEST_BAR, _LENGTH_OF_BARS = 130, 200  # pixels: one colour bar, all together
_LARGEST_CELL_ALONE, _SMALLEST_CELL_ALONE, _LONGEST_SIDE_ALONE = 48, 7, 900
_SMALLEST_CELL_WITH_GRID = 10
_SMALLEST_CELL_WITH_TEXT = 24  # in smaller ones digits would have to shrink; hovering still shows the values
_LETTER = 0.6  # a letter's width as a share of its height

_TURNED = 60  # degrees, of the labels above the columns
# What Plotly adds up, in pixels: a line of labels, a title with its own gap, the edge of the figure.
_LINE, _TITLE_BESIDE, _TITLE_ABOVE, _MOST_EDGE = 16, 29, 30, 12
_GRID = {"color": LINE_GREY, "width": 1}
_OUTLINE = {"color": SOLID_GREY, "width": 2.5}
_MAY_ATTEND = Scale([[0.0, see_through(BLUE, 0.55)], [1.0, see_through(BLUE, 0.55)]])


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
        """The cells for `figure_of`, `gap` pixels apart."""
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
        """Of weights the cells, [row, column], where digits in the page's own colour are too weak, and a better one."""
        if self.scale.colours is not WEIGHT_SCALE:
            return
        shares = (self.values - self.scale.low) / (self.scale.high - self.scale.low)
        for (row, column), share in np.ndenumerate(shares):
            if ink := label_color(share):
                yield (row, column + self.left), ink


@dataclass(frozen=True)
class Heatmap:
    """Cells over one another in one grid of square cells, tokens as they are beside the rows and above the columns.

    It fills `room` pixels of width, with its colour bars below; with None it stands alone, as wide as it needs.
    `texts` stand in the cells where they fit; `extra` names a column of its own, one cell to the right of the keys;
    `outline` is an SVG path around cells that stand out.
    """

    cells: tuple[Cells, ...]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    row_name: str
    key_name: str
    room: int | None
    texts: Sequence[Sequence[str]] = ()
    extra: str = ""
    outline: str = ""

    @property
    def columns(self) -> int:
        """The columns that it is wide, with the extra one."""
        return len(self.keys) + (EXTRA_COLUMNS if self.extra else 0)

    @cached_property
    def cell(self) -> float:
        """The side of a cell in pixels, with the row labels at a readable size beside them."""
        if self.room is None:
            alone = _LONGEST_SIDE_ALONE // max(len(self.queries), self.columns)
            return min(_LARGEST_CELL_ALONE, max(_SMALLEST_CELL_ALONE, alone))
        letters = _LETTER * SMALLEST_LABEL * max(map(len, shown_tokens(self.queries)))
        least = 4.0 if len(self.queries) * len(self.keys) <= MOST_CELLS else 0.5
        fitting = min(_LARGEST_CELL, max(least, (self.room - letters - 45) / len(self.keys)))
        return fitting * len(self.keys) / self.columns

    @property
    def height(self) -> int:
        """The whole figure's height in pixels."""
        least = _LEAST_HIGH if self._has_bar_below else 0
        return round(max(least, len(self.queries) * self.cell) + self._above + self.below)

    @property
    def below(self) -> int:
        """The room of the colour bars below."""
        bars = sum(bool(layer.bar) for layer in self.cells)
        return (_BELOW_WITH_BARS if bars > 1 else _BELOW_WITH_BAR) if self._has_bar_below else 10

    @property
    def _has_bar_below(self) -> bool:
        return self.room is not None and any(layer.bar for layer in self.cells)

    @property
    def _above(self) -> float:
        letters = _LETTER * SMALLEST_LABEL * max(map(len, (*shown_tokens(self.keys), self.extra)), default=0)
        return letters + (70 if self.room is None else 40)

    @property
    def margin(self) -> dict[str, int]:
        """The room around the cells in pixels: on the page what Plotly finds that the labels and titles take.

        With less, it makes that room when all is drawn, and then draws all once more.
        """
        keys = shown_tokens(self.keys)
        last = self.extra or (keys or [""])[-1]
        right = max(5, round(cos(radians(_TURNED)) * _LETTER * SMALLEST_LABEL * len(last)))
        if self.room is None:
            return {"l": 5, "r": right, "t": 5, "b": self.below}
        edge = min(_MOST_EDGE, right, self.below)
        beside, above, beyond = (
            max((text_width(label) for label in labels), default=0)
            for labels in (shown_tokens(self.queries), (*keys, self.extra), (last,))
        )
        high, long = sin(radians(_TURNED)), cos(radians(_TURNED))
        return {
            "l": ceil(edge + beside + ROOM_OF_A_TICK + (_TITLE_BESIDE if self.row_title else 0)),
            "r": max(right, ceil(edge + long * beyond + high * _LINE / 2 - self.cell / 2) + 2),
            "t": ceil(edge + high * above + long * _LINE + ROOM_OF_A_TICK + _TITLE_ABOVE),
            "b": self.below,
        }

    @property
    def row_title(self) -> str:
        """The rows' name, or as much of it as stands beside them without being cut."""
        fitting = (len(self.queries) * self.cell + _BELOW_WITH_BAR) / _TITLE_LETTER
        titles = self.row_name, self.row_name.split(":")[0], "row"
        return next((title for title in titles if len(title) <= fitting), "")

    def within(self, side: int) -> "Heatmap":
        """The same in the largest room up to `side` pixels with which it is no higher than that, if it can be."""
        rooms = (replace(self, room=room) for room in range(side, _NARROWEST_ROOM, -4))
        return next((found for found in rooms if found.height <= side), replace(self, room=_NARROWEST_ROOM))

    @property
    def has_texts(self) -> bool:
        """Whether its texts fit into the cells."""
        return len(self.texts) > 0 and self.cell >= _SMALLEST_CELL_WITH_TEXT


def heatmap_figure(heatmap: Heatmap) -> go.Figure:
    """The heatmap drawn, with numbers in cells that are large enough."""
    bars = [layer for layer in heatmap.cells if layer.bar]
    gap = 1 if heatmap.cell >= _SMALLEST_CELL_WITH_GRID else 0
    traces = [layer.trace(_colour_bar(heatmap, bars, layer), gap) for layer in heatmap.cells]
    if heatmap.has_texts:
        traces.append(_texts(heatmap))
    layout: dict[str, Any] = {
        "shapes": _shapes(heatmap, gap > 0) or None,
        "margin": heatmap.margin,
        "hovermode": "closest",
        "showlegend": False,
    }
    if heatmap.room is None:
        beside = _LETTER * SMALLEST_LABEL * max(map(len, shown_tokens(heatmap.queries)), default=0)
        layout["width"] = round(heatmap.columns * heatmap.cell + beside + 160)
    every = _labelled(heatmap)
    layout["meta"] = {"rows": heatmap.queries, "columns": _columns(heatmap)}
    x, y = _axes(heatmap, every)
    return figure_of(traces, heatmap.height, x=x, y=y, legend=None, **layout)


def _columns(heatmap: Heatmap) -> tuple[str, ...]:
    return (*heatmap.keys, "", heatmap.extra) if heatmap.extra else heatmap.keys


def _labelled(heatmap: Heatmap) -> int:
    """Every which row and column has its label: all of them where there is room."""
    return ceil(SMALLEST_LABEL / (int(heatmap.cell) or heatmap.cell))


def _axes(heatmap: Heatmap, every: int) -> tuple[dict, dict]:
    keys = token_axis(heatmap.keys, every=every)
    if heatmap.extra:
        keys["tickvals"].append(len(heatmap.keys) + 1)
        keys["ticktext"].append(token_label(heatmap.extra))
    shared = {"tickfont": {"size": SMALLEST_LABEL}, "constrain": "domain"}
    above = {"side": "top", "tickangle": -_TURNED, "range": [-0.5, heatmap.columns - 0.5], "constraintoward": "left"}
    beside = {"scaleanchor": "x", "constraintoward": "top", "title": row_titled(heatmap.row_title)}
    rows = token_rows(heatmap.queries, every=every)
    return {**keys, **shared, **above, "title": titled(heatmap.key_name)}, {**rows, **shared, **beside}


def _colour_bar(heatmap: Heatmap, bars: list[Cells], layer: Cells) -> dict | None:
    if not layer.bar:
        return None
    if heatmap.room is None:
        return bar_beside(layer.bar, layer.scale)
    left = [bar is layer for bar in bars].index(True) / len(bars)
    return bar_below(layer.bar, layer.scale, left=left, length=min(_LONGEST_BAR, _LENGTH_OF_BARS // len(bars)))


def _texts(heatmap: Heatmap) -> dict:
    """Texts in the middle of their cells, in the page's own colour or in the one that can be read on the cell."""
    filled = [(row, column, text) for row, line in enumerate(heatmap.texts) for column, text in enumerate(line) if text]
    rows, columns, texts = ([cell[part] for cell in filled] for part in range(3))
    inks = {cell: ink for layer in heatmap.cells for cell, ink in layer.inks()}
    font: dict[str, Any] = {"size": SMALLEST_LABEL}
    if inks:
        font["color"] = [inks.get((row, column), PAGE_TEXT) for row, column, _ in filled]
    return scatter(columns, rows, "text", text=texts, textfont=font, hoverinfo="skip")


def _shapes(heatmap: Heatmap, inner: bool) -> list[dict]:
    """The grid behind the cells, or its frame alone where cells are too small for lines between them; the outline."""
    outline = [{"type": "path", "path": heatmap.outline, "line": _OUTLINE}] if heatmap.outline else []
    if heatmap.room is None:
        return outline
    return [cell_lines(len(heatmap.queries), len(heatmap.keys), inner=inner), *outline]


def cell_lines(rows: int, columns: int, first: int = 0, *, inner: bool = True) -> dict:
    """Lines around cells [rows, columns] from column `first` on, or with `inner` False their frame alone, as a shape.

    Without them a cell of almost nothing could not be told from the page.
    """
    left, right = first - 0.5, first + columns - 0.5
    across = range(rows + 1) if inner else (0, rows)
    down = range(first, first + columns + 1) if inner else (first, first + columns)
    lines = [f"M{left},{row - 0.5}L{right},{row - 0.5}" for row in across]
    lines += [f"M{column - 0.5},-0.5L{column - 0.5},{rows - 0.5}" for column in down]
    return {"type": "path", "path": "".join(lines), "layer": "below", "line": _GRID}


def attention_map_figure(chosen: AttentionMap, side: int | None = None) -> go.Figure:
    """Weights from 0 to 1 with their values; masked cells stay blank.

    It fits into a square of `side` pixels, its colour bar below; with None it stands alone, as large as it needs.
    """
    name = sentence_case(head_name(chosen.layer, chosen.head, chosen.layers, chosen.heads))
    rows = [f"{name}<br>{row_words(chosen, row)}" for row in range(len(chosen.weights))]
    values = [[f"weight <b>{weight:.4f}</b>" for weight in row] for row in chosen.weights.tolist()]
    hover = hover_texts(rows, chosen.keys, values)
    cells = Cells(chosen.weights, hover, Scale(WEIGHT_SCALE, ticks=(0, 0.25, 0.5, 0.75, 1)), "weight")
    names = axis_names(chosen.kind, chosen.row_label)
    texts = weight_texts(chosen.weights)
    heatmap = Heatmap((cells,), chosen.queries, chosen.keys, *names, room=side, texts=texts)
    return heatmap_figure(heatmap if side is None else heatmap.within(side))


def plain_maps(figure: go.Figure) -> list[tuple[int, int]]:
    """Rows and columns of the maps in a figure whose cells are too many for words each."""
    maps = (part for part in as_written(figure)["data"] if part.get("hovertemplate") == PLAIN_CELLS)
    return [(len(part["z"]), len(part["z"][0])) for part in maps]


def map_title(chosen: AttentionMap) -> str:
    """What the map is, averages named as such: "Cross-attention: layer 3, head 2"."""
    return f"{KIND_NAMES[chosen.kind]}: {head_name(chosen.layer, chosen.head, chosen.layers, chosen.heads)}"


def weight_texts(weights: np.ndarray) -> list[list[str]]:
    """Two decimals for each cell, nothing for a blank one."""
    return [["" if isnan(weight) else short_weight(weight) for weight in row] for row in weights.tolist()]


def hover_texts(
    rows: Sequence[str], keys: Sequence[str], cells: Sequence[Sequence[str]], relation: str = "attends to"
) -> list[list[str]]:
    """For each cell: which row, given in words, attends to which key, and what the cell holds."""
    names = [f"<br>{relation} “{token_label(key)}”: " for key in keys]
    return cell_texts(lambda row, name, cell: f"{row}{name}{cell}", rows, names, cells)


def cell_texts(write: Callable[..., str], rows: Iterable, columns: Values, values: Iterable) -> list[list[str]]:
    """What write(row, column, value) says of each cell, by the names of `rows` and `columns`."""
    return [
        [write(row, *each) for each in zip(columns, line, strict=True)] for row, line in zip(rows, values, strict=True)
    ]


def axis_names(kind: str, row_label: str) -> tuple[str, str]:
    """The titles beside the rows and above the columns of a map of this kind."""
    key_name = INPUT_KEY if kind == "decoder" else "key: source token"
    if kind == "encoder":
        return "query: source token", key_name
    return f"decoder row: {ROW_NAMES[RowLabel(row_label)]}", key_name


def row_words(chosen: AttentionMap | MaskedHead, row: int) -> str:
    """A row in words: the source token, or the decoder's input token and output token."""
    if chosen.predicted is None:
        return f"“{token_label(chosen.fed[row])}”"
    return f"input token “{token_label(chosen.fed[row])}”, output token “{token_label(chosen.predicted[row])}”"


def mask_figure(unmasked: np.ndarray, tokens: tuple[str, ...], masked_by: dict[str, np.ndarray]) -> go.Figure:
    """Draw a mask: [target, target], True = may attend, among the decoder's input tokens.

    masked_by: reasons for a masked cell, in words for the hover text, each with its cells.
    """
    hover = _mask_hover([token_label(token) for token in tokens], unmasked, masked_by)
    cells = Cells(np.where(unmasked, 1.0, BLANK), hover, _MAY_ATTEND, hover_blank=True)
    return heatmap_figure(Heatmap((cells,), tokens, tokens, "query: decoder input token", INPUT_KEY, ROOM_OF_A_THIRD))


def _mask_hover(names: list[str], unmasked: np.ndarray, masked_by: dict[str, np.ndarray]) -> list[list[str]]:
    """For each cell whether its query may attend to its key, and what keeps it from that."""
    keys = [f"token {number} “{name}”" for number, name in enumerate(names, start=1)]
    reasons = [(reason, cells.tolist()) for reason, cells in masked_by.items()]

    def cell(row: int, key: int, may_attend: bool) -> str:
        if may_attend:
            return f"may attend to {keys[key]}"
        return f"may not attend to {keys[key]}:<br>{' and '.join(why for why, cells in reasons if cells[row][key])}"

    return [
        [f"Token {row + 1} “{names[row]}”<br>{cell(row, key, may)}" for key, may in enumerate(line)]
        for row, line in enumerate(unmasked.tolist())
    ]
