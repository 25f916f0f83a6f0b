"""Figure of a quiz before and after a lesson."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from headlight.language import texts_beside

from .layout import LEGEND_ABOVE, Theme, bars, figure_of, label_rows, percent_axis
from .numbers import percent
from .palette import BLUE, GREY, MIDDLE_GREY, see_through

_ROW, _MARGIN = 36, 70  # pixels
_RIGHT, _WRONG = (0.55, 0.85), (0.5, 0.34, 0.2)  # opacities: before and after; of the wrong options in turn
_LETTER = 0.0085  # share of the width that a letter takes, about
_TIMES = ("before", "after")
_text = texts_beside(__file__)
_EDGE = {"width": 1, "color": MIDDLE_GREY}
_INSIDE = {"textposition": "inside", "insidetextanchor": "start", "textangle": 0, "constraintext": "none"}
_LOOK: dict[str, Any] = {"orientation": "h", "width": 0.43, "hoverinfo": "text", **_INSIDE}
Option = tuple[str, str, str, float, float]


def quiz(options: Sequence[Option], *, theme: Theme = "paper") -> go.Figure:
    """Draw two bars per row, before above after: the share of its first option, the right one, in blue, then others.

    An option is its row's label, perhaps bold, "<b>label</b>", its text, a short text for long enough bars, and its
    shares before and after.
    """
    rows = list(dict.fromkeys(each[0] for each in options))
    of_row = [[each for each in options if each[0] == row] for row in rows]
    most = max(map(len, of_row))
    columns = [[options[rank] if rank < len(options) else None for options in of_row] for rank in range(most)]
    traces = [_bars(column, rank, time) for time in range(len(_TIMES)) for rank, column in enumerate(columns)]
    x, y, legend = percent_axis(), label_rows(rows) | {"ticktext": rows}, LEGEND_ABOVE | {"traceorder": "normal"}
    return figure_of(traces, _ROW * len(rows) + _MARGIN, theme=theme, x=x, y=y, barmode="stack", legend=legend)


def _bars(options: Sequence[Option | None], rank: int, time: int) -> dict:
    shown = {at: (option, option[4] if time else option[3]) for at, option in enumerate(options) if option}
    places, shares = [at + (0.22 if time else -0.22) for at in shown], [share for _, share in shown.values()]
    texts = [option[2] if rank else percent(share) for option, share in shown.values()]
    fitting = [text if len(text) * _LETTER < share else "" for text, share in zip(texts, shares, strict=True)]
    name = _text(_TIMES[time])
    hover = [f"{name}: {option[1]}<br><b>{percent(share)}</b>" for option, share in shown.values()]
    colour = see_through(GREY, _WRONG[(rank - 1) % len(_WRONG)]) if rank else see_through(BLUE, _RIGHT[time])
    marker, legend = {"color": colour, "line": _EDGE}, {"name": name, "showlegend": not rank}
    return bars(shares, places, marker=marker, hovertext=hover, text=fitting, **legend, **_LOOK)
