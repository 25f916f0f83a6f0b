"""The widgets whose value stands in the address: each takes its name, and with it its default, from the register.

`start` is the default where the register leaves it to the page.
"""

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeVar

import streamlit as st

from . import heading, url_state
from .url_state import default_of

_BOUND: Final = "query-params"

Number = TypeVar("Number", int, float)
Width = int | Literal["stretch"]


def one_of(
    label: str,
    options: Sequence[str],
    key: str,
    explanation: str | None = None,
    start: str | None = None,
    hide_label: bool = False,
) -> str:
    """A row of buttons of which one is always chosen. A hidden label is for screen readers alone."""
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
        label_visibility="collapsed" if hide_label else "visible",
    )
    return chosen or default  # an address that says "kind=" chooses nothing


def view_of(options: Sequence[str], key: str) -> str:
    """Which of a page's views is shown: a row of buttons beside its title."""
    with heading.beside_title():
        return one_of("View", options, key, hide_label=True)


def from_list(
    label: str,
    options: Sequence[str],
    key: str,
    start: str | None = None,
    width: Width = 220,
    hide_label: bool = False,
) -> str:
    """A list to open, of which one is always chosen. A hidden label is for screen readers alone."""
    first = options.index(default_of(key, start) or options[0])
    return st.selectbox(
        label,
        options,
        first,
        key=key,
        bind=_BOUND,
        width=width,
        label_visibility="collapsed" if hide_label else "visible",
    )


def some_of(label: str, options: Sequence[str], key: str, most: int, explanation: str) -> list[str]:
    """A list of which at most so many are chosen, perhaps none."""
    default = list(default_of(key))
    return st.multiselect(label, options, default, key=key, bind=_BOUND, max_selections=most, help=explanation)


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
    """A number from `least` to `most`; all of them whole, or none."""
    default = default_of(key, start)
    return st.slider(label, least, most, default, step, key=key, bind=_BOUND, help=explanation, width=width)


def slider_of(label: str, options: Sequence[str], key: str, explanation: str, width: Width = "stretch") -> str:
    """A slider over options."""
    return st.select_slider(label, options, default_of(key), key=key, bind=_BOUND, help=explanation, width=width)


def slider_over(label: str, names: Sequence[str], key: str, start: int, width: Width = "stretch") -> int:
    """A slider over things by their names, of which two may read the same; returns which, counted from 0.

    The address counts from 1. `start` may be another from run to run; it is also taken for a number beyond the names.
    """
    first, own = str(start + 1), f"{key}_slider"
    number = url_state.read_number(key, start + 1)
    if number > len(names):
        number = start + 1
        url_state.write(key, first, first)
    if len(names) < 2:
        return 0
    st.session_state[own] = number - 1
    st.select_slider(
        label,
        range(len(names)),
        format_func=lambda place: names[place],
        key=own,
        on_change=lambda: url_state.write(key, str(st.session_state[own] + 1), first),
        width=width,
    )
    return st.session_state[own]


def whole_number(
    label: str, first: int, last: int, key: str, explanation: str | None = None, start: int | None = None
) -> int:
    """A box for a number from `first` to `last`; what lies between two becomes the nearer one.

    Streamlit's box for whole numbers breaks on a link that says "inf", so this one is for decimals.
    """
    default = float(default_of(key, start))
    value = st.number_input(
        label, float(first), float(last), default, 1.0, "%.0f", key=key, bind=_BOUND, help=explanation
    )
    return round(value)


def any_number(label: str, key: str, step: float, width: int) -> float:
    """A box for any number, whole ones written without a point."""
    return st.number_input(label, value=default_of(key), step=step, format="%g", key=key, bind=_BOUND, width=width)


def line(label: str, key: str, placeholder: str | None = None) -> str:
    """A box for a line of text; `placeholder` is what stands for nothing written."""
    return st.text_input(label, default_of(key), key=key, bind=_BOUND, placeholder=placeholder) or ""


def sentence(label: str, key: str, placeholder: str, on_change: Callable[[], None]) -> str:
    """A field for a sentence, taken with Enter or on leaving it; its label is for screen readers alone."""
    return (
        st.text_input(
            label,
            default_of(key),
            key=key,
            bind=_BOUND,
            placeholder=placeholder,
            on_change=on_change,
            label_visibility="collapsed",
        )
        or ""
    )
