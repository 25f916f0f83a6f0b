"""Pages: their groups in the sidebar, their titles, and the bar's request for a page.

This module imports neither PyTorch nor Plotly: before the first run of app.py Streamlit takes a link to a page in
pages/ for a script of its own and runs it alone, before `main` has prepared their import.
"""

from __future__ import annotations

import contextlib
import copy
import functools
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import Page

from headlight.language import language, texts_of

from . import state
from .entry import entry_folder
from .state import HOME
from .statics import style

if TYPE_CHECKING:
    from headlight.app.results import TranslationRequest

_FOLDER = entry_folder() / "pages"
# Pages by their names in addresses, in groups by the names of their headings.
GROUPS = {
    "": (HOME, "lessons"),
    "see": ("decoding", "attention", "what_if"),
    "how": ("inside", "positions", "training"),
    "deeper": ("research",),
}
_TEXTS = Path(__file__).with_name("texts.toml")
# Views that another page has taken over, by their page and its parameter of the same name: that page.
_MOVED = {("attention", "why this cell"): "research"}
_HOME_STYLE = Path(__file__).with_name("home.css")
# In the session: from `run_page` to `take_request`, and from the title to `beside_title`.
_REQUEST, _ROOM = "request", "beside_title"


def navigation() -> Page:
    """Register all pages and return the page in the address; open another page for a view that it has taken over."""
    page = _register()
    values = state.in_address()
    view = values.pop(page.url_path, "")
    if new_page := _MOVED.get((page.url_path, view)):
        st.switch_page(_FOLDER / f"{new_page}.py", query_params={**values, new_page: view})
    state.read(page.url_path or HOME)
    return page


def _register() -> Page:
    return st.navigation(list(map(copy.copy, _pages(language()))))  # which marks the page that may run


@functools.cache  # making pages looks for their files: 3 ms per run
def _pages(interface: str) -> list[Page]:
    return [st.Page(_FOLDER / f"{name}.py", title=title, default=name == HOME) for name, title in page_titles().items()]


def page_names() -> tuple[str, ...]:
    """Return the names of all pages in addresses, HOME first."""
    return tuple(name for pages in GROUPS.values() for name in pages)


def page_titles() -> dict[str, str]:
    """Return the titles of all pages by their names, in the language of the interface."""
    titles = texts_of(_TEXTS)["pages"]["texts"]
    return {name: titles[name] for name in page_names()}


def group_headings() -> str:
    """Return the groups' headings as a style for the sidebar's list of pages.

    Streamlit's own headings put list items outside their list (axe: "list").
    """
    rules, child, headings = [], 1, texts_of(_TEXTS)["groups"]["texts"]
    for group, pages in GROUPS.items():
        if group:
            item = f'[data-testid="stSidebarNavItems"] > li:nth-child({child})::before'
            rules.append(f'{item} {{ content: "{headings[group]}"; }}')
        child += len(pages)
    return f"<style>{' '.join(rules)}</style>"


def is_home(page: Page) -> bool:
    """Return whether a page is the one of the bare address."""
    return not page.url_path


def run_page(page: Page, request: TranslationRequest) -> None:
    """Show a page's title, except on Home, and run its script; show a UserError as a message.

    A script takes no arguments: the request waits in the session for `take_request`.
    """
    from transformer.errors import UserError

    from . import widgets
    from .errors import error_text

    if not is_home(page):
        _show_title(page.title)
    st.session_state[_REQUEST] = request
    try:
        page.run()
    except UserError as error:
        st.warning(widgets.plain(error_text(error)), icon=":material/edit:")


def take_request() -> TranslationRequest:
    """Return the bar's request, and remove it from the session.

    A script that Streamlit runs alone has none: registering the pages makes the next run begin at app.py.
    """
    if _REQUEST not in st.session_state:
        _register()
        st.rerun()
    return st.session_state.pop(_REQUEST)


def show_name() -> None:
    """Show the name and one sentence above Home, with a style of this page alone.

    A `:has()` in the style of all pages took 14 ms in place of 0.5 for each change of a page and label of Plotly's.
    """
    from .finding import Templates

    st.html(style(_HOME_STYLE))
    row = st.container(horizontal=True, gap=None, key="name")
    row.title("Headlight", anchor=False, width="content")
    row.markdown(Templates.beside(__file__).text("sentence"), width="content")
    st.session_state[_ROOM] = row.container(width="content")


def _show_title(title: str) -> None:
    """Show the page's title and, in the same row, the container of `beside_title`."""
    row = st.container(horizontal=True, vertical_alignment="center", gap="medium", key="title_row")
    row.title(title, anchor=False, width="content")
    st.session_state[_ROOM] = row.container(width="content", horizontal=True, vertical_alignment="center")


def beside_title() -> DeltaGenerator | contextlib.AbstractContextManager:
    """Return the container beside the title for the first caller in a run, a null context for others."""
    return st.session_state.pop(_ROOM, contextlib.nullcontext())
