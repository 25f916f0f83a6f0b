"""Reading and writing what stands in an address and has no widget of Streamlit's; names and defaults: `parameters`."""

import contextlib
import re
from collections.abc import Mapping

import streamlit as st
from streamlit.errors import StreamlitAPIException

from .parameters import PARAMETERS

# In the session: the page of the run before and the page of this run; how many runs there were, and in which of them
# each choice was shown last.
_PAGES, _RUNS, _LOOKED = "pages_seen", "runs_seen", "looked_in_run"
_ORDERED = "ordered_address"  # in the session: what this run's page is to show, whatever its address and widgets say


def default_of(key: str, start=None):
    """Return a name's value where the address has none: the register's, or `start` where that leaves it open."""
    default = PARAMETERS[key].default
    if default is not None and start is not None:
        raise ValueError(f"{key!r} has the default {default!r} in the register and gets another: {start!r}")
    return start if default is None else default


def read(key: str, start: str = "") -> str:
    """Return the value of `key` in the address, else its default; on coming back from another page, what it was then.

    Streamlit takes what is not bound to a widget out of the address when the page changes.
    """
    default = default_of(key, start or None) or ""
    kept = (came_from_another_page() and st.session_state.get(_kept(key))) or default
    written = st.query_params.get(key)
    value = kept if written is None else written
    if (order := ordered(key)) is not None:
        value = order
    _write(key, value, written, default)
    return value


def written() -> dict[str, str]:
    """Return all names that stand in the address, with their values, whatever is ordered."""
    return {key: st.query_params[key] for key in PARAMETERS if key in st.query_params}


def asked(*keys: str) -> dict[str, str]:
    """Return those of the names that stand in the address, with their values."""
    new = {key: value for key in keys if (value := ordered(key))}
    if any(st.query_params.get(key) != value for key, value in new.items()):
        write_all(new)
    return {key: st.query_params[key] for key in keys if key in st.query_params} | new


def order(values: Mapping[str, str]) -> None:
    """Let the page of this run show these values: each name's own widget, or `read`, takes its own when it comes."""
    st.session_state[_ORDERED] = dict(values)


def ordered(key: str) -> str | None:
    """Return the value that a name is to have in this run, None where it is free."""
    return st.session_state.get(_ORDERED, {}).get(key)


def orders() -> dict[str, str]:
    """Return all names that are to have another value in this run than the address and the widgets say."""
    return dict(st.session_state.get(_ORDERED, {}))


def forget_orders() -> None:
    """Leave the page to its visitor again; called at the end of a run, before any of its parts runs by itself."""
    st.session_state[_ORDERED] = {}  # a name that is missing in the session takes three times as long to look up


def write(key: str, value: str, start: str = "") -> None:
    """Put the value into the address, or take it out where it is the default."""
    _write(key, value, st.query_params.get(key), default_of(key, start or None) or "")


def _write(key: str, value: str, written: str | None, default: str) -> None:
    """Do the same where it is known what is `written` there: each look at the address takes time."""
    st.session_state[_kept(key)] = value
    if value == default:
        if written is not None:
            del st.query_params[key]
    elif written != value:
        st.query_params[key] = value


def read_number(key: str, start: int) -> int:
    """Return a whole number from 1 on that is in the address, else `start`."""
    value = read(key, str(start))
    return int(value) if re.fullmatch(r"[0-9]{1,6}", value) and int(value) else start


def token_ids(text: str) -> tuple[int, ...]:
    """Return token ids as an address has them, "258.15"; none where the text is something else."""
    return tuple(map(int, text.split("."))) if re.fullmatch(r"[0-9]{1,7}(\.[0-9]{1,7}){0,200}", text) else ()


def write_all(values: Mapping[str, str]) -> None:
    """Put these into the address in one step, which the Back button takes back as one.

    Where a widget of the page before still has one of the names, the session alone knows them until the next choice.
    """
    with contextlib.suppress(StreamlitAPIException):
        st.query_params.update(values)


def came_from_another_page() -> bool:
    """Return whether this is the first run of a page."""
    before, now = st.session_state.get(_PAGES, (None, None))
    return before != now


def is_new_here(name: str) -> bool:
    """Return whether what asks this was not shown in the run before: on another page, or another view of it."""
    looked, run = st.session_state.setdefault(_LOOKED, {}), st.session_state.get(_RUNS, 0)
    new = came_from_another_page() or looked.get(name, -1) < run - 1
    looked[name] = run
    return new


def note_page(path: str) -> None:
    """Remember which page this run shows; called once a run, before the page."""
    _, before = st.session_state.get(_PAGES, (None, None))
    st.session_state[_PAGES] = (before, path)
    st.session_state[_RUNS] = st.session_state.get(_RUNS, 0) + 1


def page_shown() -> str:
    """Return the path of this run's page in the address, empty for the home."""
    return st.session_state.get(_PAGES, (None, ""))[1]


def _kept(key: str) -> str:
    return f"address_{key}"
