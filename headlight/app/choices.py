"""Widgets with a value in the address, named as its parameter; `start` is the default of one without its own."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import streamlit as st

from headlight.app.results import TranslationRequest
from headlight.plots.tokens import shown_tokens
from transformer.interpret.trace import RowLabel, Trace

from . import state
from .finding import Templates
from .navigation import beside_title
from .parameters import PARAMETERS, default_of
from .selection import ROW_LABELS, parse_numbers

_MOST_BUTTONS = 6  # of views beside a title; more views are a list
SIDES = {"source": "encoder", "target": "decoder"}
TEMPLATES = Templates.beside(__file__)
_OPTIONS = Templates.beside(__file__.replace("choices", "options"))

Number = TypeVar("Number", int, float)
Width = int | Literal["stretch"]
Visibility = Literal["visible", "collapsed"]  # of a label: a collapsed one is for screen readers alone


def _bound_option(key: str, options: Sequence[str], start: str | None = None, also: Mapping[str, str] | None = None):
    first = default_of(key) or start or options[0]
    start = first if first in options else options[0]
    return state.bound(key, start, lambda text: text if text in options else None, also=also)


def one_of(options: Sequence[str], key: str, visibility: Visibility = "visible") -> str:
    """Show a row of buttons and return the chosen one."""
    bound, label = _bound_option(key, options), TEMPLATES.text(key)
    return st.segmented_control(
        label,
        options,
        format_func=option_label,
        required=True,
        help=_help(key),
        wrap=True,
        label_visibility=visibility,
        **bound,
    )


def option_label(option: str) -> str:
    """Return an option as it is called in the language of the interface; its own text, if it has no other name."""
    return str(_OPTIONS.texts.get(option, option))


def _help(key: str) -> str | None:
    return TEMPLATES.texts.get(f"{key}_help")


def view_of(options: Sequence[str], key: str) -> str:
    """Show a page's views beside its title, as a row of buttons or a list; return the chosen one."""
    with beside_title():
        offer = one_of if len(options) <= _MOST_BUTTONS else from_list
        return offer(options, key, visibility="collapsed")


def offer_view(label: str, key: str, view: str) -> None:
    """Show a button that opens another view of the page, also in a fragment."""

    def choose() -> None:
        state.go(**{key: view})

    if st.button(label, key=f"open_{view}", on_click=choose, icon=":material/arrow_forward:", type="tertiary"):
        st.rerun()


def show_views(
    views: Mapping[str, Callable[[TranslationRequest], None]],
    key: str,
    request: TranslationRequest,
) -> None:
    """Show the view of a page that is in the address under `key`; see `view_of`. Raises UserError."""
    views[view_of(tuple(views), key)](request)


def switch(key: str) -> bool:
    """Show a switch and return its state; the address has "1" for on."""
    bound = state.bound(key, False, lambda text: text == "1", lambda on: "1" if on else "")
    return st.toggle(TEMPLATES.text(key), **bound)


def from_list(
    options: Sequence[str] | Mapping[str, str],
    key: str,
    start: str | None = None,
    width: Width = 220,
    visibility: Visibility = "visible",
    also: Mapping[str, str] | None = None,
) -> str:
    """Show a list of options, perhaps with their labels; return the chosen one.

    also: further changes of the address with a choice.
    """
    bound = _bound_option(key, tuple(options), start, also)
    labels = options if isinstance(options, Mapping) else {}
    return st.selectbox(
        TEMPLATES.text(key),
        tuple(options),
        format_func=lambda option: labels.get(option) or option_label(option),
        width=width,
        label_visibility=visibility,
        **bound,
    )


def _number(text: str, least: Number, most: Number) -> Number | None:
    """Return the number of a text, within its limits; None for a text without a finite one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return min(max(type(least)(number), least), most) if math.isfinite(number) else None


def slider(
    key: str,
    limits: tuple[int, int] | None = None,
    step: float | None = None,
    start: int | None = None,
    width: Width = "stretch",
    label: str = "",
) -> Any:
    """Show a slider within the limits of the parameter, or other ones, and return its number; all whole, or none.

    label: the parameter's unless given.
    """
    least, most = limits or PARAMETERS[key].limits or (0, 0)
    default = _number(default_of(key), least, most)
    first = start if default is None else default
    bound = state.bound(
        key,
        least if first is None else first,
        lambda text: _number(text, least, most),
        lambda number: f"{number:g}",
        identity=(least, most, step),
    )
    return st.slider(label or TEMPLATES.text(key), least, most, step=step, help=_help(key), width=width, **bound)


def slider_over(names: Sequence[str], key: str, start: int, width: Width = "stretch", label: str = "") -> int:
    """Show a slider over names, which may repeat; return the index of the chosen one, from 0.

    The address counts from 1. `start` may change from run to run, and stands for a number beyond the names.
    """
    if len(names) < 2:
        return 0

    bound = state.bound(
        key, start, lambda text: next(iter(parse_numbers(text, len(names))), None), lambda index: str(index + 1)
    )
    shown = label or TEMPLATES.text(key)
    return st.select_slider(shown, range(len(names)), format_func=names.__getitem__, width=width, **bound)


def whole_number(key: str) -> int:
    """Show a box for a whole number within the limits of the parameter; a decimal is rounded.

    Streamlit's box for whole numbers fails on "inf", so this one is for decimals.
    """
    start, (first, last) = float(default_of(key)), map(float, PARAMETERS[key].limits or (0, 0))
    bound = state.bound(key, start, lambda text: _number(text, first, last), lambda number: str(round(number)))
    label, explanation = TEMPLATES.text(key), _help(key)
    return round(st.number_input(label, first, last, step=1.0, format="%.0f", help=explanation, **bound))


def line(key: str, start: str = "", placeholder: str | None = None) -> str:
    """Show a box for a line of text, taken with Enter or on leaving it; an emptied one shows its start again."""
    bound = state.bound(key, default_of(key) or start, lambda text: text, str.strip)
    return st.text_input(TEMPLATES.text(key), placeholder=placeholder, **bound)


def one_number(count: int, key: str) -> int:
    """Show a row of buttons with the numbers from 1 to `count`; return the chosen one."""
    return int(one_of(numbers(count), key))


def row_label() -> RowLabel:
    """Offer the tokens that name a decoder row."""
    with st.popover(TEMPLATES.text("options"), key="row_options", type="tertiary"):
        return ROW_LABELS[one_of(tuple(ROW_LABELS), "rows")]


def choose_output_token(trace: Trace, start: int) -> int:
    """Show a slider over the output tokens; return the index of the chosen one. It and `start` count from 0."""
    return slider_over(shown_tokens(trace.target_tokens), "step", start, width=420)


def choose_side() -> str:
    """Offer the stacks of a view: "encoder" or "decoder"."""
    return SIDES[one_of(tuple(SIDES), "side")]


def choose_token(trace: Trace) -> tuple[str, int, tuple[str, ...]]:
    """Offer a side and its tokens; return the stack, the token's index from 0, and all tokens of the side.

    Decoder tokens are the input tokens.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        stack = choose_side()
        tokens = trace.source_tokens if stack == "encoder" else trace.decoder_input_tokens
        return stack, slider_over(shown_tokens(tokens), "token", min(1, len(tokens) - 1), width=420), tokens


def numbers(count: int) -> tuple[str, ...]:
    """Return the numbers from 1 to `count` as texts of buttons and addresses."""
    return tuple(map(str, range(1, count + 1)))
