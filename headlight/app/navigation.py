"""Pages: their groups in the sidebar, their titles, and the hand-over of the bar's request to a page.

This module imports neither PyTorch nor Plotly: until app.py has run once in a server's life, Streamlit takes a link to
a page in pages/ for a script of its own and runs it alone, before `main` has prepared their import.
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

from . import url_state
from .entry import entry_folder
from .statics import style

if TYPE_CHECKING:
    from headlight.app.results import TranslationRequest

HOME = "home"
_FOLDER = entry_folder() / "pages"
# The heading of each group, and the titles of its pages by their names in addresses.
GROUPS = {
    "": {HOME: "Home", "lessons": "Lessons"},
    "See it work": {"decoding": "Decoding", "attention": "Attention", "what_if": "What if"},
    "How it works": {"inside": "Inside", "positions": "Positions", "training": "Training"},
    "Look deeper": {"research": "Research"},
}
_HOME_STYLE = Path(__file__).with_name("home.css")
# In the session: from `run_page` to `take_request`, and from the title to `beside_title`.
_REQUEST, _ROOM = "request", "beside_title"


def navigation() -> Page:
    """Register all pages and return the one that the URL asks for."""
    page = _register()
    url_state.note_page(page.url_path)
    return page


def _register() -> Page:
    pages = list(map(copy.copy, _pages()))  # `navigation` notes in them which one may run
    return st.navigation(pages)


@functools.cache  # Streamlit looks for every page's file each time that it is made: 3 ms a run
def _pages() -> list[Page]:
    return [
        st.Page(_FOLDER / f"{name}.py", title=title, default=name == HOME)
        for pages in GROUPS.values()
        for name, title in pages.items()
    ]


def page_names() -> tuple[str, ...]:
    """Return the names of all pages, as their addresses have them, HOME first."""
    return tuple(name for pages in GROUPS.values() for name in pages)


@functools.cache
def group_headings() -> str:
    """Return the groups' headings as a style for the sidebar's list of pages.

    Streamlit's own headings put list items outside their list, which screen readers stumble over (axe: "list").
    """
    rules, child = [], 1
    for heading_text, pages in GROUPS.items():
        if heading_text:
            rules.append(
                f'[data-testid="stSidebarNavItems"] > li:nth-child({child})::before {{ content: "{heading_text}"; }}'
            )
        child += len(pages)
    return f"<style>{' '.join(rules)}</style>"


def is_home(page: Page) -> bool:
    """Return whether it is the page that the bare address opens."""
    return not page.url_path


def run_page(page: Page, request: TranslationRequest) -> None:
    """Title a page, unless it is the home, and run its script, with a message in place of what the user cannot have.

    A script takes no arguments: what the bar chose waits in the session until `take_request` takes it.
    """
    from transformer.errors import UserError

    from . import widgets

    if not is_home(page):
        _show_title(page.title)
    st.session_state[_REQUEST] = request
    try:
        page.run()
    except UserError as error:
        st.warning(widgets.plain(str(error)), icon=":material/edit:")


def take_request() -> TranslationRequest:
    """Return the bar's request for the page's script, and remove it from the session.

    A script that Streamlit runs alone has none: registering the pages ends that, and the next run begins at app.py.
    """
    if _REQUEST not in st.session_state:
        _register()
        st.rerun()
    return st.session_state.pop(_REQUEST)


def show_name() -> None:
    """Show the name and one sentence above Home.

    Its style is on this page alone. As a `:has()` in the style of all pages, it made every change of any page, and each
    label that Plotly measures, ask for the style of the whole page anew: 14 ms instead of 0.5.
    """
    st.html(style(_HOME_STYLE))
    row = st.container(horizontal=True, gap=None, key="name")
    row.title("Headlight", anchor=False, width="content")
    row.markdown("Watch a neural network translate. Nothing is faked.", width="content")
    st.session_state[_ROOM] = row.container(width="content")


def _show_title(title: str) -> None:
    """Show the page's title and, in the same row, the container of `beside_title`."""
    row = st.container(horizontal=True, vertical_alignment="center", gap="medium", key="title_row")
    row.title(title, anchor=False, width="content")
    st.session_state[_ROOM] = row.container(width="content", horizontal=True, vertical_alignment="center")


def beside_title() -> DeltaGenerator | contextlib.AbstractContextManager:
    """Return the container beside the title for the first caller of a run, a null context for others."""
    return st.session_state.pop(_ROOM, contextlib.nullcontext())
