"""State of a visitor's page: one frozen value per run, which is read from the address and changed in one place.

A value goes from the address to a widget and back:

1. The browser sends its address with every run. `read` takes the values from it, once per run of the app, before
   anything is drawn. On the first run of another page it adds the visitor's last values of that page's names, in one
   write. After Back and Forward the address alone counts.
2. A view reads `value("step")`, `current()`, or makes a widget from `widget` or `bound`: the widget shows the value in
   the address, or its start where the address has none or an invalid one. Nothing is written while a page is drawn.
3. A choice calls `go(step="3")`: a callback of a widget, a handler of a component, or a lesson. `go` writes the address
   in one step of the browser's history, without defaults. The run that follows reads it as in 1.
4. A way to another page with values is `open_page`, or `leave_for` in a callback: their values are among the last ones
   of 1.

A fragment's run has no `read`: the state of the session is then that of the last run or of the last `go`. Streamlit's
own `bind="query-params"` is not used: it knows neither other texts than a widget's own nor several names in one choice.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, TypedDict, TypeVar
from urllib.parse import parse_qsl

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from headlight.components.show import STATE
from headlight.language import ENGLISH, first_known

from .parameters import PARAMETERS, default_of, names_of, view_of_old_address

HOME = "home"
# The parameter that chooses a page's view, for a page where it is not the page's name.
_VIEWS = {"decoding": "decoding_view"}

Value = TypeVar("Value")


class Bound(TypedDict):
    """Arguments of a Streamlit widget that connect it to the address."""

    key: str
    on_change: Callable[[], None]


@dataclass(frozen=True)
class State:
    """The visitor's page and its values as texts: those in the address, and the last ones of all pages by name.

    drawn: page and identity of each widget that was drawn, by its key; destination: the page that the next run opens
    instead, with changes.
    """

    page: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    remembered: Mapping[str, str] = field(default_factory=dict)
    drawn: dict[str, tuple] = field(default_factory=dict)
    destination: tuple[str, Mapping[str, str]] | None = None

    def value(self, name: str) -> str:
        """Return the value of a name in the address, else its default, "" without one."""
        return self.values.get(name) or default_of(name)

    @property
    def path(self) -> str:
        """Return the page's path in the address, empty for the home."""
        return "" if self.page == HOME else self.page

    @property
    def all_values(self) -> dict[str, str]:
        """Return the values of the address, and the defaults of the other names that have one."""
        defaults = {name: text for name in PARAMETERS if (text := default_of(name))}
        return defaults | dict(self.values)

    @property
    def view(self) -> tuple[str, str]:
        """Return the page and the view in its address: reports of a component count while its view is shown."""
        name = _VIEWS.get(self.page, self.page)
        return self.page, self.value(name) if name in PARAMETERS else ""


def read(page: str) -> State:
    """Read the state of this run of a page from the address, and keep it in the session; called once per run.

    Open the page of `leave_for` instead, also where a report of the page that is left has come in between.
    """
    values, names = in_address(), names_of(page)
    if STATE not in st.session_state and (view := view_of_old_address(page, values.keys())):
        st.query_params.update(view)
        values |= view
    last: State = st.session_state.get(STATE) or State(page)
    if last.destination and last.destination[0] != page:
        _switch(*last.destination)
    if last.page != page and not _is_history():
        missing = {name: text for name, text in last.remembered.items() if name in names - values.keys()}
        if missing:
            st.query_params.update(missing)
        values |= missing
    of_others = {name: text for name, text in last.remembered.items() if name not in names}
    st.session_state[STATE] = State(page, values, of_others | values, last.drawn)
    if last.destination:
        go(**last.destination[1])
    return current()


def current() -> State:
    """Return the state of this run."""
    return st.session_state.get(STATE) or read(HOME)


def value(name: str) -> str:
    """Return the value of a name in the address, else its default, "" without one."""
    return current().value(name)


def language() -> str:
    """Return the language of the interface: the address's, else the browser's, English where we lack it."""
    context = get_script_run_ctx()
    if context is None:
        return ENGLISH
    # Before `read`, too: the titles of pages are in it. Asked for each number of a page.
    last: State = st.session_state.get(STATE) or State()
    return first_known(_language_in(context.query_string) or last.remembered.get("ui", ""), st.context.locale or "")


@functools.lru_cache
def _language_in(query: str) -> str:
    return dict(parse_qsl(query)).get("ui", "")


def in_address() -> dict[str, str]:
    """Return the values that the browser's address has, without empty ones."""
    return _filled({name: text for name, text in st.query_params.to_dict().items() if name in PARAMETERS})


def go(**changes: str) -> None:
    """Change values of the state and the address; "" stands for the default. Raises KeyError for an unknown name."""
    state = current()
    changes, written = _without_defaults(changes), st.query_params.to_dict()
    new = {name: text for name, text in (written | changes).items() if text or name not in PARAMETERS}
    if new != written:
        st.query_params.from_dict(new)
    values = {name: text for name, text in new.items() if name in PARAMETERS}
    st.session_state[STATE] = replace(state, values=values, remembered=_filled({**state.remembered, **changes}))


def leave_for(page: str, **changes: str) -> None:
    """Open a page with its last values and these changes with the next run, in one step of the browser's history."""
    st.session_state[STATE] = replace(current(), destination=(page, changes))


def open_page(page: str, **changes: str) -> NoReturn:
    """End this run and do as `leave_for`."""
    leave_for(page, **changes)
    if page == current().page:
        st.rerun()
    _switch(page, changes)


def _switch(page: str, changes: Mapping[str, str]) -> NoReturn:
    remembered = _filled({**current().remembered, **_without_defaults(changes)})
    st.session_state[STATE] = replace(current(), remembered=remembered)
    names = names_of(page) | changes.keys()
    query = {name: text for name, text in remembered.items() if name in names}
    st.switch_page(f"pages/{page}.py", query_params=query)


def _without_defaults(changes: Mapping[str, str]) -> dict[str, str]:
    return {name: "" if text == default_of(name) else text for name, text in changes.items()}


def _filled(values: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in values.items() if text}


def widget(key: str, shown: object, changes_of: Callable[[Any], Mapping[str, str]], identity: tuple = ()) -> Bound:
    """Let a widget show a value; return its arguments. A choice changes the state by `changes_of` the chosen value.

    identity: arguments of the widget that make another one of it, with the same key.
    """
    state, drawn_as = current(), (current().page, *identity)
    # Only where it is new or shows another value: setting a widget takes away what the visitor types.
    if state.drawn.get(key) != drawn_as or st.session_state.get(key) != shown:
        st.session_state[key] = shown
        state.drawn[key] = drawn_as
    return {"key": key, "on_change": lambda: go(**changes_of(st.session_state[key]))}


def bound(
    name: str,
    start: Value,
    value_of: Callable[[str], Value | None],
    text_of: Callable[[Value], str] = str,
    also: Mapping[str, str] | None = None,
    identity: tuple = (),
) -> Bound:
    """Return the arguments of a widget for one name of the address, which is its key; see `widget`.

    start: shown without a valid value; the address does not name it. value_of: the value of a text, None for an invalid
    one; text_of: its text in the address; also: further changes when the visitor chooses.
    """
    text = current().values.get(name)
    parsed = None if text is None else value_of(text)

    def changes_of(chosen: Value | None) -> dict[str, str]:
        return {**(also or {}), name: "" if chosen is None or chosen == start else text_of(chosen)}

    return widget(name, start if parsed is None else parsed, changes_of, identity)


def _is_history() -> bool:
    """Return whether this run answers the browser's Back or Forward."""
    return bool(getattr(get_script_run_ctx(), "is_history_navigation", False))
