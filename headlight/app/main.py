"""One run of the app: the frame that all pages have, and the page that the address asks for."""

import contextlib
import ctypes
import functools
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import streamlit as st

from . import open_files

if TYPE_CHECKING:
    from headlight.app.results import TranslationRequest

# One thread a visitor's run, unless the environment says otherwise: OpenMP reads this when PyTorch is imported. A model
# of this size is no faster with two (a trace takes 43 ms with one, 51 with two), and beside another busy process, or
# another visitor, two threads wait for one another (54 ms with one, 174 with two).
os.environ.setdefault("OMP_NUM_THREADS", "1")

_M_ARENA_MAX, _ARENAS = -8, 2  # of glibc's mallopt(3)
FOLDER = Path(__file__).parent
_LET_IN = "let_in"  # in the session
SHARED_STYLES = [FOLDER.parent / "components" / "lib" / name for name in ("colours.css", "chips.css", "finding.css")]


class Guide(Protocol):
    """What leads a visitor from page to page: see headlight/lessons/panel.py, which stands above all pages."""

    def start_run(self) -> None: ...
    def follow(self, request: "TranslationRequest") -> None: ...
    def show_panel(self, request: "TranslationRequest") -> None: ...
    def show_lessons_through(self, page: str) -> None: ...
    def end_run(self) -> None: ...


def main(load_guide: Callable[[], Guide]) -> None:
    """Draw the page in the address for one visitor; `load_guide` imports what leads through lessons."""
    st.html(_styles())
    if st.context.is_embedded:
        st.html(FOLDER / "embed.css")
    st.logo(FOLDER / "logo.svg", size="large", icon_image=FOLDER / "icon.svg")
    if not _has_room():
        _configure("Headlight")
        st.error("This server has as many visitors as it can serve: please try again in a few minutes.")
        st.stop()
    with starting():
        from . import bar
        from .line import in_turn
        from .navigation import group_headings, is_home, navigation, run_page, show_name
        from .widgets import offer_downloads

        guide = load_guide()
    above_page = st.empty()  # for a word to who has to wait
    page = navigation()
    guide.start_run()
    _configure(f"{page.title} · Headlight")
    st.html(group_headings())
    above = st.container()  # on every page: a widget that moves leaves the address
    if is_home(page):
        with above:
            show_name()
    request = bar.show()  # quickly done, and who waits says what will be asked for
    offer_downloads()
    panel = st.container(key="lesson")
    with in_turn(above_page, request):
        with panel:
            guide.follow(request)
            guide.show_panel(request)
        run_page(page, request)
        guide.show_lessons_through(page.url_path)
    guide.end_run()
    freeze_imports()


def _configure(title: str) -> None:
    """Say what the browser's tab shows, and that the page is wide: once a run, for it all costs the browser time."""
    st.set_page_config(page_title=title, page_icon=str(FOLDER / "icon.svg"), layout="wide")


@functools.cache  # read once, and one message a run
def _styles() -> str:
    """Return the styles of all pages, and the headings of their list."""
    texts = [style.read_text(encoding="utf-8") for style in (*SHARED_STYLES, FOLDER / "page.css")]
    return "".join(f"<style>{text}</style>" for text in texts)


def _has_room() -> bool:
    """Return whether there is room for this visitor; who has once been let in stays."""
    st.session_state[_LET_IN] = st.session_state.get(_LET_IN) or open_files.has_room()
    return st.session_state[_LET_IN]


def share_arenas() -> None:
    """Let all threads of the server take their memory from two of glibc's arenas, unless the environment says how many.

    Each visitor's run is a thread of its own, and glibc gives threads up to eight arenas a core that keep what was
    freed: with thirty visitors who ablate all heads the server held 1.8 GB instead of 1.2. Does nothing where the C
    library is another one.
    """
    if sys.platform.startswith("linux") and "MALLOC_ARENA_MAX" not in os.environ:
        with contextlib.suppress(AttributeError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


share_arenas()
open_files.raise_limit()

_read = threading.Event()  # set when all that the app imports is there
_reading = threading.Lock()


@contextlib.contextmanager
def starting() -> Iterator[None]:
    """Say on the page, when PyTorch is not there yet, that the block reads it.

    A chart of nothing stands beside the message, so that the browser reads its charting library at the same time: that
    takes as long, and the first real chart is then drawn at once. Of several first visitors one imports and the others
    wait: Plotly looks for pandas among the imported modules, and failed where another visitor was half-way through it.
    """
    # In every run: what comes after it keeps its place, and its widgets stay the same in the browser.
    notice = st.empty()
    if _read.is_set():
        yield
        return
    _configure("Headlight")
    with notice.container():
        st.info("Starting: reading PyTorch and the model …", icon=":material/hourglass_top:")
        chart = st.empty()
    with _reading:
        if not _read.is_set():  # before anything is imported: the browser needs longer than that
            chart.plotly_chart(
                {"data": [{"type": "heatmap"}], "layout": {"height": 10}}, key="starting", alt="Nothing yet"
            )
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
