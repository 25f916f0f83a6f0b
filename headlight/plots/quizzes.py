"""Figure of a quiz before and after a lesson."""

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from .layout import LEGEND_ABOVE, Theme, bars, figure_of, label_rows, percent_axis
from .numbers import percent
from .palette import BLUE, GREY, MIDDLE_GREY, see_through

_ROW, _MARGIN = 34, 70  # pixels
_RIGHT, _WRONG = (0.55, 0.85), (0.5, 0.34, 0.2)  # opacities: before and after; of the wrong options in turn
_APART = 0.2  # of both bars from the middle of their row
_LETTER = 0.0085  # share of the width that a letter takes, about


class QuizOption(NamedTuple):
    """An option with its shares before and after; short: on a bar that is long enough."""

    text: str
    short: str
    before: float
    after: float


class QuizRow(NamedTuple):
    """A row of the figure with its options, the right one first. is_heading: of an idea, above its items."""

    label: str
    options: Sequence[QuizOption]
    is_heading: bool = False


def quiz(rows: Sequence[QuizRow], times: Sequence[str] = ("before", "after"), *, theme: Theme = "paper") -> go.Figure:
    """Draw two bars per row, before above after: the share of the right answer in blue, then those of wrong options."""
    most = max(len(row.options) for row in rows)
    traces = [_bars(rows, option, time, name) for time, name in enumerate(times) for option in range(most)]
    y = label_rows([row.label for row in rows])
    y["ticktext"] = [f"<b>{row.label}</b>" if row.is_heading else row.label for row in rows]
    look = {"barmode": "stack", "legend": LEGEND_ABOVE | {"traceorder": "normal"}}
    return figure_of(traces, _ROW * len(rows) + _MARGIN, theme=theme, x=percent_axis(), y=y, **look)


def _bars(rows: Sequence[QuizRow], option: int, time: int, name: str) -> dict:
    shown = {at: row.options[option] for at, row in enumerate(rows) if option < len(row.options)}
    shares = [each.after if time else each.before for each in shown.values()]
    options = list(zip(shares, shown.values(), strict=True))
    texts = [each.short if option else percent(share) for share, each in options]
    colour = see_through(GREY, _WRONG[(option - 1) % len(_WRONG)]) if option else see_through(BLUE, _RIGHT[time])
    return bars(
        shares,
        [at + (_APART if time else -_APART) for at in shown],
        orientation="h",
        width=0.38,
        marker={"color": colour, "line": {"width": 1, "color": MIDDLE_GREY}},
        name=name,
        showlegend=not option,
        hovertext=[f"{name}: {each.text}<br><b>{percent(share)}</b>" for share, each in options],
        hoverinfo="text",
        text=[text if len(text) * _LETTER < share else "" for text, share in zip(texts, shares, strict=True)],
        textposition="inside",
        insidetextanchor="start",
        textangle=0,
    )
