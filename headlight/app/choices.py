"""Widgets with a value in the address, named as its parameter; `start` is the default of one without its own."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeVar

import streamlit as st

from headlight.app.results import TranslationRequest
from headlight.components.show import SHOWN_VIEW
from headlight.plots.names import ROW_LABELS
from headlight.plots.tokens import shown_tokens
from transformer.interpret.trace import RowLabel, Trace

from . import url_state
from .navigation import beside_title
from .url_state import default_of

_MOST_BUTTONS = 6  # of views beside a title; more views are a list
SIDES = {"source": "encoder", "target": "decoder"}
_BOUND: Final = "query-params"

Number = TypeVar("Number", int, float)
Width = int | Literal["stretch"]
Visibility = Literal["visible", "collapsed"]  # of a label: a collapsed one is for screen readers alone


def _obey(key: str, options: Sequence[str] | None = None, kind: Callable[[str], object] = str) -> None:
    """Set a widget to the value ordered for this run, if it is valid."""
    value = url_state.ordered(key)
    if value is not None and (options is None or value in options):
        with contextlib.suppress(ValueError):
            st.session_state[key] = kind(value)


def _sync(
    widget: str, value: object, key: str, start: str = "", text: Callable[[Any], str] = str
) -> Callable[[], None]:
    """Set a widget to a value; return a callback that writes the widget's new value into the address."""
    st.session_state[widget] = value
    return lambda: url_state.write(key, text(st.session_state[widget]), start)


def one_of(
    label: str,
    options: Sequence[str],
    key: str,
    explanation: str | None = None,
    start: str | None = None,
    visibility: Visibility = "visible",
) -> str:
    """Show a row of buttons and return the chosen one."""
    _obey(key, options)
    default = default_of(key, start) or options[0]
    chosen = st.segmented_control(
        label,
        options,
        default=default,
        required=True,
        key=key,
        bind=_BOUND,
        help=explanation,
        wrap=True,
        label_visibility=visibility,
    )
    return chosen or default  # "kind=" in the address chooses nothing


def view_of(options: Sequence[str], key: str) -> str:
    """Show a page's views beside its title, as a row of buttons or a list; return the chosen one."""
    with beside_title():
        offer = one_of if len(options) <= _MOST_BUTTONS else from_list
        view = offer("View", options, key, visibility="collapsed")
        st.session_state[SHOWN_VIEW] = key, view
    return view


def offer_view(label: str, key: str, view: str) -> None:
    """Show a button that opens another view of the page, also in a fragment."""

    def choose() -> None:
        st.session_state[key] = view

    if st.button(label, key=f"open_{view}", on_click=choose, icon=":material/arrow_forward:", type="tertiary"):
        st.rerun()


def show_views(
    views: Mapping[str, Callable[[TranslationRequest], None]],
    key: str,
    request: TranslationRequest,
) -> None:
    """Show the view of a page that is in the address under `key`; see `view_of`. Raises UserError."""
    views[view_of(tuple(views), key)](request)


def switch(label: str, key: str) -> bool:
    """Show a switch and return its state; the address has "1" for on."""
    widget = f"{key}_switch"
    change = _sync(widget, url_state.read(key) == "1", key, text=lambda on: "1" if on else "")
    return st.toggle(label, key=widget, on_change=change)


def from_list(
    label: str,
    options: Sequence[str],
    key: str,
    start: str | None = None,
    width: Width = 220,
    visibility: Visibility = "visible",
    on_change: Callable[[], None] | None = None,
) -> str:
    """Show a list to open and return the chosen option."""
    _obey(key, options)
    first = options.index(default_of(key, start) or options[0])
    return st.selectbox(
        label,
        options,
        first,
        key=key,
        bind=_BOUND,
        width=width,
        label_visibility=visibility,
        on_change=on_change,
    )


def slider(
    label: str,
    least: Number,
    most: Number,
    key: str,
    step: Number | None = None,
    start: Number | None = None,
    explanation: str | None = None,
    width: Width = "stretch",
) -> Number:
    """Show a slider from `least` to `most`; all of them whole, or none."""
    default = default_of(key, start)
    _obey(key, kind=lambda text: min(max(type(least)(text), least), most))
    return st.slider(label, least, most, default, step, key=key, bind=_BOUND, help=explanation, width=width)


def slider_over(label: str, names: Sequence[str], key: str, start: int, width: Width = "stretch") -> int:
    """Show a slider over names, which may repeat; return the index of the chosen one, from 0.

    The address counts from 1. `start` may change from run to run, and replaces a number beyond the names.
    """
    first, widget = str(start + 1), f"{key}_slider"
    number = url_state.read_number(key, start + 1)
    if number > len(names):
        number = start + 1
        url_state.write(key, first, first)
    if len(names) < 2:
        return 0
    change = _sync(widget, number - 1, key, first, lambda index: str(index + 1))
    indices = range(len(names))
    st.select_slider(label, indices, format_func=names.__getitem__, key=widget, on_change=change, width=width)
    return st.session_state[widget]


def whole_number(
    label: str, first: int, last: int, key: str, explanation: str | None = None, start: int | None = None
) -> int:
    """Show a box for a whole number from `first` to `last`; a decimal is rounded.

    Streamlit's box for whole numbers fails on a link with "inf", so this one is for decimals.
    """
    default = float(default_of(key, start))
    _obey(key, kind=lambda text: min(max(float(text), first), last))
    value = st.number_input(
        label, float(first), float(last), default, 1.0, "%.0f", key=key, bind=_BOUND, help=explanation
    )
    return round(value)


def line(
    label: str,
    key: str,
    placeholder: str | None = None,
    on_change: Callable[[], None] | None = None,
    visibility: Visibility = "visible",
) -> str:
    """Show a box for a line of text, taken with Enter or on leaving it."""
    _obey(key)
    text = st.text_input(
        label,
        default_of(key),
        key=key,
        bind=_BOUND,
        placeholder=placeholder,
        on_change=on_change,
        label_visibility=visibility,
    )
    return text or ""


def one_number(label: str, count: int, key: str) -> int:
    """Show a row of buttons with the numbers from 1 to `count`; return the chosen one."""
    return int(one_of(label, numbers(count), key))


def row_label() -> RowLabel:
    """Offer the tokens that name a decoder row."""
    explanation = "While the decoder reads one token it predicts the next: each row has both, input → output."
    with st.popover("Options", key="row_options", type="tertiary"):
        return ROW_LABELS[one_of("Name rows by", tuple(ROW_LABELS), "rows", explanation)]


def choose_output_token(trace: Trace, start: int) -> int:
    """Show a slider over the output tokens; return the index of the chosen one. It and `start` count from 0."""
    return slider_over("Output token", shown_tokens(trace.target_tokens), "step", start, width=420)


def choose_among(
    label: str,
    options: Mapping[str, str],
    key: str,
    start: str,
    width: Width = 260,
    visibility: Visibility = "visible",
) -> str:
    """Show a list of options: values in the address and their labels; `start` replaces an unknown value."""
    value, widget = url_state.read(key, start), f"{key}_list"
    return st.selectbox(
        label,
        list(options),
        format_func=options.__getitem__,
        key=widget,
        on_change=_sync(widget, value if value in options else start, key, start),
        width=width,
        label_visibility=visibility,
    )


def write_line(label: str, key: str, start: str, subject: str) -> str:
    """Show a box for a line of text; when the subject changes, its text is `start` again."""
    widget, noted = f"{key}_line", f"{key}_subject"
    value = url_state.read(key, start)
    about, before = st.session_state.get(noted, (subject, value))
    if about != subject and value == before and url_state.ordered(key) is None:  # on the Back button both change
        value = start
        url_state.write(key, start, start)
    st.session_state[noted] = subject, value
    return st.text_input(label, key=widget, on_change=_sync(widget, value, key, start))


def choose_side() -> str:
    """Offer the stacks of a view: "encoder" or "decoder"."""
    return SIDES[one_of("Side", tuple(SIDES), "side")]


def choose_token(trace: Trace) -> tuple[str, int, tuple[str, ...]]:
    """Offer a side and its tokens; return the stack, the token's index from 0, and all tokens of the side.

    Decoder tokens are the input tokens.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        stack = choose_side()
        tokens = trace.source_tokens if stack == "encoder" else trace.decoder_input_tokens
        return stack, slider_over("Token", shown_tokens(tokens), "token", min(1, len(tokens) - 1), width=420), tokens


def numbers(count: int) -> tuple[str, ...]:
    """Return the numbers from 1 to `count` as texts of buttons and addresses."""
    return tuple(map(str, range(1, count + 1)))
