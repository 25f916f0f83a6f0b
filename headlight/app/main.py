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

# One thread a visitor's run, unless the environment says otherwise: OpenMP reads this when PyTorch is imported. A model
# of this size is no faster with two (a trace takes 43 ms with one, 51 with two), and beside another busy process, or
# another visitor, two threads wait for one another (54 ms with one, 174 with two).
os.environ.setdefault("OMP_NUM_THREADS", "1")

FOLDER = Path(__file__).parent
_SKELETON = '<div class="skeleton" aria-hidden="true"></div>'  # in place of the first figure while it loads
_VISITED = "visited"  # in the session
SHARED_STYLES = [FOLDER.parent / "components" / "lib" / name for name in ("colours.css", "chips.css", "finding.css")]


class Guide(Protocol):
    """Guide from page to page: `headlight.lessons`, which stands above all pages."""

    def start_run(self) -> None: ...
    def follow(self, request: "TranslationRequest") -> None: ...
    def show_panel(self, request: "TranslationRequest") -> None: ...
    def show_lessons_through(self, page: str) -> None: ...
    def end_run(self) -> None: ...


def main(guide: Guide) -> None:
    """Draw the page in the address for one visitor; `guide` is first used once PyTorch is imported."""
    st.html(_styles())
    if st.context.is_embedded:
        st.html(style(FOLDER / "embed.css"))
    st.logo(picture(FOLDER / "logo.svg"), size="large", icon_image=picture(FOLDER / "icon.svg"))
    with starting():
        from . import bar, results
        from .model_queue import in_turn
        from .navigation import group_headings, is_home, navigation, run_page, show_name
        from .widgets import offer_downloads

        start_run = guide.start_run  # imports the lessons
    above_page = st.empty()  # for a word to who has to wait
    page = navigation()
    start_run()
    _configure(f"{page.title} · Headlight")
    st.html(group_headings())
    above = st.container()  # on every page: a widget that moves leaves the address
    if is_home(page):
        with above:
            show_name()
    request = bar.show()  # quickly done, and who waits says what will be asked for
    offer_downloads()
    panel = st.container(key="lesson")
    placeholder = st.empty()
    if _VISITED not in st.session_state:
        st.session_state[_VISITED] = True
        placeholder.html(_SKELETON)
    with in_turn(above_page, results.greedy_request(request)):
        with panel:
            guide.follow(request)
            guide.show_panel(request)
        run_page(page, request)
        placeholder.empty()
        guide.show_lessons_through(page.url_path)
    guide.end_run()
    freeze_imports()


def _configure(title: str) -> None:
    """Say what the browser's tab shows, and that the page is wide: once a run, for it all costs the browser time."""
    st.set_page_config(page_title=title, page_icon=picture(FOLDER / "icon.svg"), layout="wide")


@functools.cache  # one message per run
def _styles() -> str:
    """Return the styles of all pages, and the headings of their list."""
    return "".join(map(style, (*SHARED_STYLES, FOLDER / "page.css")))


open_files.raise_limit()

_read = threading.Event()  # set when all that the app imports is there
_reading = threading.Lock()


@contextlib.contextmanager
def starting() -> Iterator[None]:
    """Say on the page that the block imports PyTorch, unless it is imported already.

    The first of several first visitors imports and the others wait: Plotly looks for pandas among the imported modules,
    and failed while another thread was importing it.
    """
    # In every run: what comes after it keeps its place, and its widgets stay the same in the browser.
    notice = st.empty()
    if _read.is_set():
        yield
        return
    _configure("Headlight")
    with notice.container():
        st.info("Starting: reading PyTorch and the model …", icon=":material/hourglass_top:")
        st.html(_SKELETON)
    with _reading:
        gc.disable()  # what is imported stays: looking for garbage in it takes a fifth of the time
        try:
            yield
            gc.freeze()  # and nothing in it is: one in forty objects, hardly any memory, for a sixth of a second
            _read.set()
        finally:
            gc.enable()
            notice.empty()


_frozen = 0  # modules that had been read when the heap was last frozen


def freeze_imports() -> None:
    """Let the garbage collector leave alone what stands now, unless nothing was imported since the last time.

    With PyTorch and Plotly imported, a look through all takes a tenth of a second, in which the interpreter runs
    nothing else. What a page imports when it is first visited is frozen then.
    """
    global _frozen
    if _frozen != len(sys.modules):
        gc.collect()
        gc.freeze()
        _frozen = len(sys.modules)
