"""How a figure is made; axes, margins, legends, traces and colour bars, the same in all figures."""

import base64
import functools
import html
from collections.abc import Callable, Sequence
from math import ceil
from typing import Any

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio

from .numbers import two_digits
from .palette import FAINT_GREY, PAGE_TEXT, Scale, light_colors
from .tokens import shown_token, shown_tokens, token_label

Values = Sequence | np.ndarray

SMALLEST_LABEL = 12  # pixels, legible from the back row; of labels closer than this, every second or third is shown
_LEGEND = {"orientation": "h", "x": 0, "yanchor": "bottom", "font": {"size": SMALLEST_LABEL}}
LEGEND_ABOVE = {**_LEGEND, "y": 1.02}
LEGEND_BELOW = {**_LEGEND, "y": 0, "yref": "container"}
LEFT = {"align": "left"}  # words in a hover label
GRID = {"gridcolor": FAINT_GREY, "zeroline": False, "automargin": True}  # an axis with faint lines across

LETTER = 0.55  # width of a letter as a share of its height
_EDGE = 10  # pixels around a figure
# What Plotly adds to the names of rows, in pixels: the gap to them, and a title beside them with its own.
ROOM_OF_A_TICK, _ROOM_OF_A_TITLE = 9, 21

_TYPED = {np.dtype(kind): kind for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8")}  # what JavaScript has
_FONTS = {"font", "tickfont", "insidetextfont", "outsidetextfont"}
_BESIDE_SQUARES = 1.2  # the most that letters grow around square cells, which shrink as labels take their room
_LETTERS = "letters"  # of an axis of tokens, until the figure is made
_QUIET = {"zeroline": False, "automargin": True}


class Figure(go.Figure):
    """A figure that Plotly checks, property by property, when someone looks into it, and not to draw it.

    The checks take four times as long as all else that a page does with a figure; the tests look into each.
    """

    def __init__(self, given: dict):
        self._given = given

    def __getattr__(self, name: str):
        if name == "_given" or "_data" in vars(self):
            raise AttributeError(name)
        super().__init__(self._given)
        return getattr(self, name)

    def to_dict(self) -> dict:
        """The figure as Plotly's JavaScript takes it, arrays packed."""
        if "_data" in vars(self):
            return super().to_dict()
        data, layout = (_written(self._given[part]) for part in ("data", "layout"))
        return {"data": data, "layout": {"template": _template(pio.templates.default), **layout}}


def captioned(figure: go.Figure, caption: str) -> go.Figure:
    """The same figure with a caption, plain text that the page does not draw and that goes where the figure goes."""
    given = as_written(figure)
    layout = given["layout"]
    return Figure({**given, "layout": {**layout, "meta": {**(layout.get("meta") or {}), "caption": caption}}})


def with_light_theme(draw: Callable[..., go.Figure]) -> Callable[..., go.Figure]:
    """The same function with figures for a light background: no browser puts a theme's colours in their place."""

    @functools.wraps(draw)
    def draw_light(*arguments: Any, **options: Any) -> go.Figure:
        return go.Figure(light_colors(as_written(draw(*arguments, **options))))

    return draw_light


def enlarged(figure: go.Figure, times: float) -> go.Figure:
    """The same figure so many times as high, with all letters larger but those in cells: for a presentation."""
    given = as_written(figure)
    layout, margin = dict(given["layout"]), given["layout"].get("margin") or {}
    axes = [name for name in layout if name.startswith(("xaxis", "yaxis")) and layout[name]]
    letters = min(times, _BESIDE_SQUARES) if any("scaleanchor" in layout[name] for name in axes) else times
    layout |= {name: _lettered(layout[name]) for name in axes}
    for name in ("legend", "hoverlabel"):
        layout[name] = {"font": {"size": SMALLEST_LABEL}} | (layout.get(name) or {})
    layout["annotations"] = [{"font": {"size": SMALLEST_LABEL}} | note for note in layout.get("annotations") or ()]
    layout["height"] *= times
    layout["margin"] = margin | {side: letters * margin[side] for side in ("t", "b") if side in margin}
    data = [
        {**trace, "colorbar": _lettered(trace["colorbar"], times)} if trace.get("colorbar") else trace
        for trace in given["data"]
    ]
    return Figure({"data": [_larger(trace, letters) for trace in data], "layout": _larger(layout, letters)})


def as_written(figure: go.Figure) -> dict:
    """What the figure was made of, or, where somebody has looked into it, what it is by now."""
    return figure._given if isinstance(figure, Figure) and "_data" not in vars(figure) else figure.to_dict()


def _lettered(axis: dict, times: float = 1) -> dict:
    """An axis, or a colour bar so many times as long, that says of its labels and its title how large they are."""
    title = axis.get("title") or {}
    title = {"text": title} if isinstance(title, str) else title
    font = {"size": SMALLEST_LABEL}
    size = {name: times * axis[name] for name in ("len", "thickness") if axis.get("lenmode") == "pixels"}
    return axis | size | {"tickfont": font | (axis.get("tickfont") or {}), "title": {"font": font, **title}}


def _larger(part: object, times: float) -> object:
    """The same with every size of a font so many times as large, but for what stands in cells."""
    if isinstance(part, dict):
        grown = {name: _larger(inner, times) for name, inner in part.items()}
        for name in grown.keys() & _FONTS:
            font = part[name] or {}
            grown[name] = {**font, "size": times * font.get("size", SMALLEST_LABEL)}
        return grown
    return [_larger(inner, times) for inner in part] if isinstance(part, list) else part


def figure_of(
    traces: Sequence[dict],
    height: int,
    *,
    x: dict | None = None,
    y: dict | None = None,
    top: int = 30,
    bottom: int = 40,
    legend: dict | None = LEGEND_ABOVE,
    **layout: Any,
) -> go.Figure:
    """A figure of traces, with its axes, its height, and its margins above and below in pixels.

    `layout` is whatever else Plotly's layout has. What tokens on an axis are to the letter goes along for those who
    take the numbers.
    """
    letters = {name: axis[_LETTERS] for name, axis in (("rows", y), ("columns", x)) if axis and _LETTERS in axis}
    x, y = ({key: part for key, part in axis.items() if key != _LETTERS} if axis else axis for axis in (x, y))
    if letters:
        layout["meta"] = letters | (layout.get("meta") or {})
    margin = {"l": _beside(y), "r": _EDGE, "t": top, "b": bottom}
    x, y = (_measured_once(axis) for axis in (x, y))
    around = {"xaxis": x, "yaxis": y, "height": height, "margin": margin, "legend": legend}
    return Figure({"data": traces, "layout": around | layout})


def _beside(axis: dict | None) -> int:
    """The pixels to the left of rows that their names and a title take: with less, Plotly draws all once more."""
    names = (axis or {}).get("ticktext") or ()
    if not axis or not names or any("<" in name for name in names):  # Plotly's markup has no width
        return _EDGE
    widest = max(text_width(html.unescape(name)) for name in names)
    return ceil(_EDGE + widest + ROOM_OF_A_TICK + (_ROOM_OF_A_TITLE if axis.get("title") else 0))


def _measured_once(axis: dict | None) -> dict | None:
    """An axis with room for all labels: the browser need not measure them again to hide those that do not fit."""
    return {"ticklabeloverflow": "allow", **axis} if axis and axis.get("automargin") else axis


def text_width(text: str) -> float:
    """Return about the width in pixels of a text in SMALLEST_LABEL; Plotly makes more room where it is not enough."""
    return LETTER * SMALLEST_LABEL * len(text)


def scatter(x: Values, y: Values, mode: str, **look: Any) -> dict:
    """Points, lines or texts at these places, for `figure_of`."""
    return {"type": "scatter", "x": x, "y": y, "mode": mode, **look}


def bars(x: Values, y: Values, **look: Any) -> dict:
    """A bar at each x, as high as its y, for `figure_of`; numbers on it in the page's own black or white."""
    ink = {"textfont": {"color": PAGE_TEXT}} if look.get("text") is not None else {}
    return {"type": "bar", "x": x, "y": y, **ink, **look}


def line_at(x: float, line: dict) -> dict:
    """A vertical line from the bottom to the top, one of a figure's shapes."""
    return {"type": "line", "x0": x, "x1": x, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain", "line": line}


def note_at(x: float, text: str, **look: Any) -> dict:
    """Words at the top to the left of a line, one of a figure's annotations; on a logarithmic axis x is a logarithm."""
    place = {"x": x, "y": 1, "yref": "paper", "xanchor": "right", "xshift": -4}
    return {"text": text, "showarrow": False, **place, **look}


def titled(text: str, standoff: int = 8) -> dict:
    """An axis title, `standoff` pixels away from the labels."""
    return {"text": text, "standoff": standoff}


def row_titled(text: str) -> dict:
    """The same beside rows: turned, its letters reach below their line towards the names, by four pixels."""
    return titled(text, 12)


def token_axis(tokens: Sequence[str], *, every: int = 1, grid: bool = False) -> dict:
    """An axis with a token at each whole number, or at every second or third, for `figure_of`.

    Tokens are shown as `shown_tokens` has them. Ticks by number: as categories, equal tokens would fall into one.
    """
    return label_axis(shown_tokens(tokens), every=every, grid=grid) | {_LETTERS: tuple(tokens)}


def token_rows(tokens: Sequence[str], *, every: int = 1, grid: bool = False) -> dict:
    """The same for rows, the first of them on top."""
    return token_axis(tokens, every=every, grid=grid) | {"range": [len(tokens) - 0.5, -0.5]}


def candidate_rows(tokens: Sequence[str]) -> dict:
    """The same for tokens that are no sentence, each as `shown_token` has it."""
    return label_rows(list(map(shown_token, tokens)), grid=True) | {_LETTERS: tuple(tokens)}


def label_axis(labels: Sequence[str], *, every: int = 1, grid: bool = False) -> dict:
    """An axis with a name at each whole number, as it is written."""
    places = list(range(0, len(labels), every))
    texts = [token_label(labels[place]) for place in places]
    return {"tickvals": places, "ticktext": texts, "showgrid": grid, **_QUIET}


def label_rows(labels: Sequence[str], *, grid: bool = False) -> dict:
    """The same for rows, the first of them on top."""
    return label_axis(labels, grid=grid) | {"range": [len(labels) - 0.5, -0.5]}


def integer_axis(count: int, name: str) -> dict:
    """An axis over 0 to count - 1 that has no tick between two whole numbers."""
    step = 1 if count <= 12 else None
    return {"title": titled(name), "range": [-0.5, count - 0.5], "dtick": step, "showgrid": False, **_QUIET}


def integer_rows(count: int, name: str) -> dict:
    """The same for rows, the first of them on top."""
    return {**integer_axis(count, name), "title": row_titled(name), "range": [count - 0.5, -0.5]}


def logarithmic_axis(name: str) -> dict:
    """An axis of powers of ten and their double and fivefold, all in letters of one size: Plotly's own are 9 pixels."""
    values = [digit * 10.0**power for power in range(-9, 10) for digit in (1, 2, 5)]
    return {"title": name, "type": "log", "tickvals": values, "ticktext": [f"{value:,.10g}" for value in values]}


def row_bars(values: Values, hover: Sequence[str], colour: str, name: str = "", texts=None) -> dict:
    """A horizontal bar a row, with its hover text, and with its number where there are `texts`."""
    marker, rows = {"color": colour, "opacity": 0.75}, list(range(len(hover)))
    shown = {"hovertext": hover, "hoverinfo": "text", "text": texts, "textposition": "auto" if texts else None}
    return bars(values, rows, orientation="h", marker=marker, name=name, **shown)


def bar_below(title: str, scale: Scale, *, left: float = 0.0, length: int = 130) -> dict:
    """A small horizontal colour bar at the bottom of a figure; `left` is its left end as a share of the width."""
    heading = {"text": title, "side": "bottom", "font": {"size": SMALLEST_LABEL}}
    size = {"orientation": "h", "thickness": 8, "lenmode": "pixels", "len": length}
    place = {"x": left, "xanchor": "left", "y": 0, "yref": "container", "yanchor": "bottom"}
    return {"title": heading, **size, **place, **_ticks(scale), "tickfont": {"size": SMALLEST_LABEL}}


def bar_beside(title: str, scale: Scale) -> dict:
    """A colour bar to the right of the cells, at the top."""
    size = {"thickness": 10, "lenmode": "pixels", "len": 180}
    return {"title": {"text": title}, **size, "y": 1, "yanchor": "top", **_ticks(scale)}


def _ticks(scale: Scale) -> dict:
    """Ticks that all stay: to hide some, Plotly would measure each as often as there are."""
    return {"tickvals": scale.ticks, "tickformat": scale.tick_format, "ticklabeloverflow": "allow"}


def digits_in_cells(values: np.ndarray) -> dict:
    """Two digits in the middle of each cell of a heatmap [rows, columns], for `figure_of`; none where it is NaN."""
    places = [(row, column) for row, column in np.ndindex(values.shape) if not np.isnan(values[row, column])]
    texts = [two_digits(float(values[place])) for place in places]
    rows, columns = [row for row, _ in places], [column for _, column in places]
    return scatter(columns, rows, "text", text=texts, textfont={"size": SMALLEST_LABEL}, hoverinfo="skip")


@functools.cache
def _template(name: str) -> dict:
    return pio.templates[name].to_plotly_json()


def _written(value: Any) -> Any:
    """The same without what is None, a title's text in its place, and arrays of numbers as Plotly's typed arrays."""
    if isinstance(value, dict):
        parts = {name: _written(part) for name, part in value.items() if part is not None}
        return parts | {"title": {"text": parts["title"]}} if isinstance(parts.get("title"), str) else parts
    if isinstance(value, np.ndarray) and value.dtype in _TYPED:
        shape = {"shape": ", ".join(map(str, value.shape))} if value.ndim > 1 else {}
        return {
            "dtype": _TYPED[value.dtype],
            "bdata": base64.b64encode(np.ascontiguousarray(value).data).decode(),
            **shape,
        }
    if isinstance(value, np.ndarray):  # of texts: what writes JSON fast cannot read these, and Plotly's own takes over
        return value.tolist()
    if isinstance(value, list | tuple) and value and isinstance(value[0], dict):
        return [_written(part) for part in value]
    return value
