"""One run of the app: the frame that all pages have, and the page that the address asks for."""

import contextlib
import functools
import gc
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import streamlit as st

from . import open_files
from .statics import picture, style

if TYPE_CHECKING:
    from headlight.app.results import TranslationRequest

# One thread per run, unless the environment says otherwise: OpenMP reads this when PyTorch is imported. Two threads
# make a trace no faster (43 ms with one, 51 with two), and wait for one another beside another visitor (54 and 174 ms).
os.environ.setdefault("OMP_NUM_THREADS", "1")

FOLDER = Path(__file__).parent
SHARED_STYLES = [FOLDER.parent / "components" / "lib" / name for name in ("colours.css", "chips.css", "finding.css")]


class Guide(Protocol):
    """Guide from page to page: `headlight.lessons`, which stands above all pages."""

    def follow(self, request: "TranslationRequest") -> None: ...
    def show_panel(self, request: "TranslationRequest") -> None: ...
    def show_lessons_through(self, page: str) -> None: ...


def main(guide: Guide) -> None:
    """Draw the page in the address for one visitor; `guide` is first used once PyTorch is imported."""
    st.html(_styles())
    if st.context.is_embedded:
        st.html(style(FOLDER / "embed.css"))
    st.logo(picture(FOLDER / "logo.svg"), size="large", icon_image=picture(FOLDER / "icon.svg"))
    with starting():
        from headlight.language import choose_language

        from . import bar, results, state
        from .model_queue import in_turn
        from .navigation import group_headings, is_home, navigation, run_page, show_name
        from .widgets import offer_downloads

        choose_language(state.language)
        show_panel = guide.show_panel  # imports the lessons
    notice = st.empty()  # for waiting visitors
    page = navigation()
    _configure(f"{page.title} · Headlight")
    st.html(group_headings())
    above = st.container()  # on every page, so that the bar keeps its place
    if is_home(page):
        with above:
            show_name()
    request = bar.show()  # before the turn: a waiting visitor's request may join a batch
    offer_downloads()
    panel = st.container(key="lesson")
    with in_turn(notice, results.greedy_request(request)):
        with panel:
            guide.follow(request)
            show_panel(request)
        run_page(page, request)
        guide.show_lessons_through(page.url_path)
    freeze_imports()


def _configure(title: str) -> None:
    """Set the title and icon of the browser's tab, and the wide layout; once per run, as each call costs time."""
    st.set_page_config(page_title=title, page_icon=picture(FOLDER / "icon.svg"), layout="wide")


@functools.cache  # one message per run
def _styles() -> str:
    """Return the styles of all pages."""
    return "".join(map(style, (*SHARED_STYLES, FOLDER / "page.css")))


open_files.raise_limit()

_read = threading.Event()  # set after the first import
_reading = threading.Lock()


@contextlib.contextmanager
def starting() -> Iterator[None]:
    """Show a notice while the block imports PyTorch, unless it is imported already.

    The first visitor imports and others wait: Plotly looks for pandas among the imported modules, and failed while
    another thread was importing it.
    """
    # In every run, so that the elements below keep their positions in the page.
    notice = st.empty()
    if _read.is_set():
        yield
        return
    _configure("Headlight")
    notice.info("Starting: reading PyTorch and the model …", icon=":material/hourglass_top:")
    with _reading:
        gc.disable()  # looking for garbage takes a fifth of the time of an import
        try:
            yield
            gc.freeze()  # without a collection: a sixth of a second for one object in forty
            _read.set()
        finally:
            gc.enable()
            notice.empty()


_frozen = 0  # number of imported modules when the heap was last frozen


def freeze_imports() -> None:
    """Exclude all objects from garbage collection, if modules were imported since the last time.

    With PyTorch and Plotly imported, a collection stops the interpreter for a tenth of a second.
    """
    global _frozen
    if _frozen != len(sys.modules):
        gc.collect()
        gc.freeze()
        _frozen = len(sys.modules)
