"""Reading and writing of URL parameters that no widget of Streamlit binds; their registry is `parameters`."""

import contextlib
import re
from collections.abc import Mapping

import streamlit as st
from streamlit.errors import StreamlitAPIException

from .parameters import PARAMETERS

_PAGES = "pages_seen"  # in the session: the pages of the last run and of this run
_ORDERED = "ordered_address"  # in the session: values for this run that take precedence over address and widgets


def default_of(key: str, start=None):
    """Return a name's value where the address has none: the register's, or `start` where that leaves it open."""
    default = PARAMETERS[key].default
    if default is not None and start is not None:
        raise ValueError(f"{key!r} has the default {default!r} in the register and gets another: {start!r}")
    return start if default is None else default


def read(key: str, start: str = "") -> str:
    """Return the value of `key` in the address, else its default; after another page, its last value on this one.

    When the page changes, Streamlit removes parameters that no widget binds.
    """
    default = default_of(key, start or None) or ""
    last = (came_from_another_page() and st.session_state.get(_memory(key))) or default
    written = st.query_params.get(key)
    value = last if written is None else written
    if (order := ordered(key)) is not None:
        value = order
    _write(key, value, written, default)
    return value


def written() -> dict[str, str]:
    """Return all parameters in the address with their values, without orders."""
    return {key: st.query_params[key] for key in PARAMETERS if key in st.query_params}


def in_address(*keys: str) -> dict[str, str]:
    """Return those of the parameters that are ordered or in the address, with their values."""
    new = {key: value for key in keys if (value := ordered(key))}
    if any(st.query_params.get(key) != value for key, value in new.items()):
        write_all(new)
    return {key: st.query_params[key] for key in keys if key in st.query_params} | new


def order(values: Mapping[str, str]) -> None:
    """Set values for this run: each parameter's widget, or `read`, takes its own."""
    st.session_state[_ORDERED] = dict(values)


def ordered(key: str) -> str | None:
    """Return the value ordered for a parameter in this run, None without one."""
    return st.session_state.get(_ORDERED, {}).get(key)


def orders() -> dict[str, str]:
    """Return all values ordered for this run."""
    return dict(st.session_state.get(_ORDERED, {}))


def forget_orders() -> None:
    """End the orders at the end of a run, before any fragment of the page runs."""
    st.session_state[_ORDERED] = {}  # a missing name in the session takes three times as long to look up


def write(key: str, value: str, start: str = "") -> None:
    """Write the value into the address, or remove the default from it."""
    _write(key, value, st.query_params.get(key), default_of(key, start or None) or "")


def _write(key: str, value: str, written: str | None, default: str) -> None:
    """Like `write`, for a known value in the address: each look at the address takes time."""
    st.session_state[_memory(key)] = value
    if value == default:
        if written is not None:
            del st.query_params[key]
    elif written != value:
        st.query_params[key] = value


def read_number(key: str, start: int) -> int:
    """Return the positive whole number in the address, else `start`."""
    value = read(key, str(start))
    return int(value) if re.fullmatch(r"[0-9]{1,6}", value) and int(value) else start


def token_ids(text: str) -> tuple[int, ...]:
    """Return the token ids of a text such as "258.15"; none of any other text."""
    return tuple(map(int, text.split("."))) if re.fullmatch(r"[0-9]{1,7}(\.[0-9]{1,7}){0,200}", text) else ()


def write_all(values: Mapping[str, str]) -> None:
    """Write values into the address in one step of the browser's history.

    While a widget of the last page binds one of the parameters, the session alone has them until the next choice.
    """
    with contextlib.suppress(StreamlitAPIException):
        st.query_params.update(values)


def came_from_another_page() -> bool:
    """Return whether this is the first run of a page."""
    before, now = st.session_state.get(_PAGES, (None, None))
    return before != now


def note_page(path: str) -> None:
    """Remember the page of this run; called once per run, before the page."""
    _, before = st.session_state.get(_PAGES, (None, None))
    st.session_state[_PAGES] = (before, path)


def page_shown() -> str:
    """Return the path of this run's page in the address, empty for the home."""
    return st.session_state.get(_PAGES, (None, ""))[1]


def _memory(key: str) -> str:
    return f"address_{key}"
