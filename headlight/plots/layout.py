"""Construction of figures: axes, margins, legends, traces and colour bars, the same in all figures."""

import base64
import functools
import html
from collections.abc import Callable, Sequence
from math import ceil
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio

from .numbers import percent, signed, two_digits
from .palette import FAINT_GREY, PAGE_TEXT, Scale, light_colors
from .tokens import shown_token, shown_tokens, token_label

Values = Sequence | np.ndarray
# "page": the browser replaces some colours by those of its theme, light or dark; "paper": a light background.
Theme = Literal["page", "paper"]

LABEL, CELL_LABEL = 13, 12  # pixels: the height of letters, in dense cells one less
LETTER = 0.55  # width of a letter as a share of its height
_LEGEND = {"orientation": "h", "x": 0, "yanchor": "bottom"}
LEGEND_ABOVE = {**_LEGEND, "y": 1.02}
LEGEND_BELOW = {**_LEGEND, "y": 0, "yref": "container"}
LEFT = {"align": "left"}  # words in a hover label
GRID = {"gridcolor": FAINT_GREY, "zeroline": False, "automargin": True}  # an axis with faint lines across

_EDGE = 10  # pixels around a figure
# Pixels that Plotly adds to the names of rows: the gap to them, and a title beside them with its own.
TICK_ROOM, _TITLE_ROOM = 9, 21

_TYPED = {np.dtype(kind): kind for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8")}  # known to JavaScript
_FONTS = {"font", "tickfont", "insidetextfont", "outsidetextfont"}
_BESIDE_SQUARES = 1.1  # largest growth of letters around square cells, which shrink as labels take their room
_LETTERS = "letters"  # of an axis of tokens, until the figure is made
_QUIET = {"zeroline": False, "automargin": True}


class Figure(go.Figure):
    """A figure of a page. Plotly checks its properties on access to one, and not for drawing.

    The checks take four times as long as all else that a page does with a figure; the tests access each property.
    """

    def __init__(self, content: dict):
        self._content = content

    def __getattr__(self, name: str):
        if name == "_content" or "_data" in vars(self):
            raise AttributeError(name)
        super().__init__(self._content)
        return getattr(self, name)

    def to_dict(self) -> dict:
        """Return the figure for Plotly's JavaScript, arrays packed."""
        if "_data" in vars(self):
            return super().to_dict()
        data, layout = (_written(self._content[part]) for part in ("data", "layout"))
        return {"data": data, "layout": {"template": _template(pio.templates.default), **layout}}


def captioned(figure: go.Figure, caption: str) -> go.Figure:
    """Return the figure with a caption: plain text that the page does not draw and that downloads contain."""
    content = as_written(figure)
    layout = content["layout"]
    return Figure({**content, "layout": {**layout, "meta": {**(layout.get("meta") or {}), "caption": caption}}})


def enlarged(figure: go.Figure, times: float) -> go.Figure:
    """Return the figure so many times as high, for presentation, with larger letters except in cells."""
    content = as_written(figure)
    layout, margin = dict(content["layout"]), content["layout"].get("margin") or {}
    is_square = any("scaleanchor" in (layout[name] or {}) for name in layout if name.startswith("yaxis"))
    letters = min(times, _BESIDE_SQUARES) if is_square else times
    layout["height"] *= times
    layout["margin"] = margin | {side: letters * margin[side] for side in ("t", "b") if side in margin}
    data = [
        trace | {"colorbar": _longer(trace["colorbar"], times)} if trace.get("colorbar") else trace
        for trace in content["data"]
    ]
    return Figure({"data": [_larger(trace, letters) for trace in data], "layout": _larger(layout, letters)})


def as_written(figure: go.Figure) -> dict:
    """Return the dict that the figure was made of or, after an access to its properties, its present state."""
    return figure._content if isinstance(figure, Figure) and "_data" not in vars(figure) else figure.to_dict()


def _longer(bar: dict, times: float) -> dict:
    return bar | {name: times * bar[name] for name in ("len", "thickness") if bar.get("lenmode") == "pixels"}


def _larger(part: object, times: float) -> object:
    """Return the part with every size of a font so many times as large, except in cells."""
    if isinstance(part, dict):
        grown = {name: _larger(inner, times) for name, inner in part.items()}
        for name in grown.keys() & _FONTS:
            font = part[name] or {}
            grown[name] = {**font, "size": times * font.get("size", LABEL)}
        return grown
    return [_larger(inner, times) for inner in part] if isinstance(part, list) else part


def figure_of(
    traces: Sequence[dict],
    height: int,
    *,
    theme: Theme,
    x: dict | None = None,
    y: dict | None = None,
    top: int = 30,
    bottom: int = 40,
    **layout: Any,
) -> go.Figure:
    """Make a figure of traces with its axes, its height and its margins above and below in pixels.

    `layout` holds any other part of Plotly's layout. The letters of tokens on an axis go along for downloads.
    """
    letters = {name: axis[_LETTERS] for name, axis in (("rows", y), ("columns", x)) if axis and _LETTERS in axis}
    if letters:
        layout["meta"] = letters | (layout.get("meta") or {})
    margin = {"l": _beside(y), "r": _EDGE, "t": top, "b": bottom}
    layout = {"xaxis": x or {}, "yaxis": y or {}, "margin": margin, "legend": LEGEND_ABOVE, **layout, "height": height}
    layout |= {name: _axis(axis) for name, axis in layout.items() if name[1:].startswith("axis")}
    layout["legend"] = {"font": {"size": LABEL}} | layout["legend"]
    layout["hoverlabel"] = {"font": {"size": LABEL}} | layout.get("hoverlabel", {})
    if "annotations" in layout:
        layout["annotations"] = [{"font": {"size": LABEL}} | note for note in layout["annotations"]]
    content = {"data": list(traces), "layout": layout}
    return Figure(content) if theme == "page" else go.Figure(light_colors(content))


def _axis(axis: dict) -> dict:
    """Return an axis with the size of its letters, and with room for all labels.

    The browser need not measure them again to hide those that do not fit.
    """
    title = axis.get("title") or {}
    title = {"text": title} if isinstance(title, str) else title
    measured = {"ticklabeloverflow": "allow"} if axis.get("automargin") else {}
    font = {"size": LABEL}
    plain = {key: part for key, part in axis.items() if key != _LETTERS}
    return measured | {"tickfont": font} | plain | {"title": {"font": font} | title}


def _beside(axis: dict | None) -> int:
    """Return the width of the names of rows and their title in pixels: with less, Plotly draws all once more."""
    names = (axis or {}).get("ticktext") or ()
    if not axis or not names or any("<" in name for name in names):  # Plotly's markup has no width
        return _EDGE
    widest = max(text_width(html.unescape(name)) for name in names)
    return ceil(_EDGE + widest + TICK_ROOM + (_TITLE_ROOM if axis.get("title") else 0))


def text_width(text: str) -> float:
    """Return about the width in pixels of a label; Plotly makes more room where it is not enough."""
    return LETTER * LABEL * len(text)


def scatter(x: Values, y: Values, mode: str, **look: Any) -> dict:
    """Return points, lines or texts at these places, for `figure_of`."""
    return {"type": "scatter", "x": x, "y": y, "mode": mode, **look}


def bars(x: Values, y: Values, **look: Any) -> dict:
    """Return a bar at each x, as high as its y, for `figure_of`; numbers on it in the page's own black or white."""
    ink = {"textfont": {"color": PAGE_TEXT, "size": CELL_LABEL}} if look.get("text") is not None else {}
    return {"type": "bar", "x": x, "y": y, **ink, **look}


def line_at(x: float, line: dict) -> dict:
    """Return a vertical line from the bottom to the top, one of a figure's shapes."""
    return {"type": "line", "x0": x, "x1": x, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain", "line": line}


def note_at(x: float, text: str, **look: Any) -> dict:
    """Return words at the top to the left of a line, an annotation; on a logarithmic axis x is a logarithm."""
    position = {"x": x, "y": 1, "yref": "paper", "xanchor": "right", "xshift": -4}
    return {"text": text, "showarrow": False, **position, **look}


def titled(text: str, standoff: int = 8) -> dict:
    """Return an axis title, `standoff` pixels away from the labels."""
    return {"text": text, "standoff": standoff}


def row_titled(text: str) -> dict:
    """Return a title beside rows: turned, its letters reach below their line towards the names, by four pixels."""
    return titled(text, 12)


def token_axis(tokens: Sequence[str], *, every: int = 1, grid: bool = False) -> dict:
    """Return an axis with a token at each whole number, or at every second or third, for `figure_of`.

    Tokens are shown as `shown_tokens` has them. Ticks by number: as categories, equal tokens would fall into one.
    """
    return label_axis(shown_tokens(tokens), every=every, grid=grid) | {_LETTERS: tuple(tokens)}


def token_rows(tokens: Sequence[str], *, every: int = 1, grid: bool = False) -> dict:
    """Return an axis of rows with a token each, the first on top."""
    return token_axis(tokens, every=every, grid=grid) | {"range": [len(tokens) - 0.5, -0.5]}


def candidate_rows(tokens: Sequence[str]) -> dict:
    """Return an axis of rows with a token each that form no sentence, as `shown_token` has it."""
    return label_rows(list(map(shown_token, tokens)), grid=True) | {_LETTERS: tuple(tokens)}


def label_axis(labels: Sequence[str], *, every: int = 1, grid: bool = False) -> dict:
    """Return an axis with a name at each whole number, as it is written."""
    places = list(range(0, len(labels), every))
    texts = [token_label(labels[at]) for at in places]
    return {"tickvals": places, "ticktext": texts, "showgrid": grid, **_QUIET}


def label_rows(labels: Sequence[str], *, grid: bool = False) -> dict:
    """Return an axis of rows with a name each, the first on top."""
    return label_axis(labels, grid=grid) | {"range": [len(labels) - 0.5, -0.5]}


def integer_axis(count: int, name: str) -> dict:
    """Return an axis over 0 to count - 1 without a tick between two whole numbers."""
    step = 1 if count <= 12 else None
    return {"title": titled(name), "range": [-0.5, count - 0.5], "dtick": step, "showgrid": False, **_QUIET}


def integer_rows(count: int, name: str) -> dict:
    """Return an axis of rows 0 to count - 1, the first on top."""
    return {**integer_axis(count, name), "title": row_titled(name), "range": [count - 0.5, -0.5]}


def percent_axis(end: float = 1.0, title: str = "", most: int = 6) -> dict:
    """Return an axis of shares from 0 to `end` with at most so many ticks in percent: "25 %"."""
    steps = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
    step = next((step for step in steps if end / step < most), 1.0)
    ticks = [count * step for count in range(int(end / step + 1e-9) + 1)]
    texts = [f"{round(100 * tick, 1):g} %" for tick in ticks]
    room = max(end, 1.04 * ticks[-1])  # for half of the last label
    return {"title": title, "range": [0, room], "tickvals": ticks, "ticktext": texts}


def logarithmic_axis(name: str) -> dict:
    """Return an axis of powers of ten and their double and fivefold, in letters of one size: Plotly's are smaller."""
    values = [digit * 10.0**power for power in range(-9, 10) for digit in (1, 2, 5)]
    return {"title": name, "type": "log", "tickvals": values, "ticktext": [f"{value:,.10g}" for value in values]}


def row_bars(values: Values, hover: Sequence[str], colour: str, name: str = "", texts=None) -> dict:
    """Return a horizontal bar per row with its hover text, and with its number where there are `texts`."""
    marker, rows = {"color": colour, "opacity": 0.75}, list(range(len(hover)))
    shown = {"hovertext": hover, "hoverinfo": "text", "text": texts, "textposition": "auto" if texts else None}
    return bars(values, rows, orientation="h", marker=marker, name=name, **shown)


def bar_below(title: str, scale: Scale, *, left: float = 0.0, length: int = 130) -> dict:
    """Return a small colour bar at the bottom of a figure; `left` is its left end as a share of the width."""
    size = {"orientation": "h", "thickness": 8, "lenmode": "pixels", "len": length}
    position = {"x": left, "xanchor": "left", "y": 0, "yref": "container", "yanchor": "bottom"}
    # Ticks that all stay: to hide some, Plotly would measure each as often as there are.
    places = scale.ticks if length >= 100 else (scale.ticks[0], scale.ticks[-1])
    texts = [percent(tick) if scale.is_percent else signed(tick, 1) for tick in places]
    ticks = {"tickvals": places, "ticktext": texts, "ticklabeloverflow": "allow"}
    font = {"size": LABEL}
    return {"title": {"text": title, "side": "bottom", "font": font}, **size, **position, **ticks, "tickfont": font}


def digits_in_cells(values: np.ndarray, write: Callable[[float], str] = two_digits) -> dict:
    """Return digits in the middle of each cell of a heatmap [rows, columns], for `figure_of`; none for NaN."""
    places = [(row, column) for row, column in np.ndindex(values.shape) if not np.isnan(values[row, column])]
    texts = [write(float(values[cell])) for cell in places]
    rows, columns = [row for row, _ in places], [column for _, column in places]
    return scatter(columns, rows, "text", text=texts, textfont={"size": CELL_LABEL}, hoverinfo="skip")


@functools.cache
def _template(name: str) -> dict:
    return pio.templates[name].to_plotly_json()


def _written(value: Any) -> Any:
    """Return the value without None, and with arrays of numbers as Plotly's typed arrays."""
    if isinstance(value, dict):
        return {name: _written(part) for name, part in value.items() if part is not None}
    if isinstance(value, np.ndarray) and value.dtype in _TYPED:
        shape = {"shape": ", ".join(map(str, value.shape))} if value.ndim > 1 else {}
        data = base64.b64encode(np.ascontiguousarray(value).data).decode()
        return {"dtype": _TYPED[value.dtype], "bdata": data, **shape}
    if isinstance(value, np.ndarray):  # of texts: the fast JSON writer cannot read these, and Plotly's own takes over
        return value.tolist()
    if isinstance(value, list | tuple) and value and isinstance(value[0], dict):
        return [_written(part) for part in value]
    return value
