"""How a trace and a model show themselves in a notebook: drawn by the app's views, which lie above the engine.

The engine imports nothing above it. As an entry point does, it names the functions that draw, and they are looked up
when somebody wants to see something.
"""

import html
import pkgutil
import sys
from collections.abc import Callable
from typing import Any

from ..errors import UserError
from ..files import app_folder

# Each function that draws, and the module that has it.
_DRAWERS = {
    **dict.fromkeys(("explorer_page", "explorer_choice"), "views.attention.explorer_html"),
    **dict.fromkeys(("trace_figure", "translator_figure"), "views.by_name"),
}
_HEIGHT = 860  # pixels: all heads and one large map beside each other


class Display:
    """A page that a notebook shows in the cell whose value this is; `page` is its HTML."""

    def __init__(self, page: str, height: int = _HEIGHT):
        self.page = page
        self.height = height

    def __repr__(self) -> str:
        return f"<a page of {len(self.page):,} characters; a notebook shows it>"

    def _repr_html_(self) -> str:
        """The page in a frame that can run its script and reach neither the notebook nor a network."""
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {self.height}px; border: none" title="Attention explorer"></iframe>'
        )


class FiguresOfTrace:
    """What gives a trace its figures."""

    def figure(self, name: str, /, **options: Any) -> Any:
        """A Plotly figure of one of the app's views by its name: `trace.figure("head", kind="cross", layer=2, head=4)`.

        The names and their options stand in `views/by_name`; a wrong one raises ValueError, which lists them.
        UserError where the app is not installed.
        """
        return drawer("trace_figure")(self, name, **options)


class FiguresOfTranslator:
    """What gives a translator its figures."""

    def figure(self, name: str, of: Any = None, /, **options: Any) -> Any:
        """A Plotly figure of one of the app's views by its name, of a text or a trace of this model:
        `translator.figure("logits", "I love my teacher.", step=2)`. Some are of the model alone, such as
        "positional encoding: matrix". Raises as `FiguresOfTrace.figure`, and as `Translator.trace` for the text.
        """
        return drawer("translator_figure")(self, name, of, **options)


def drawer(name: str) -> Callable:
    """The function of this name that draws; raises UserError where only the engine is installed."""
    if (folder := str(app_folder())) not in sys.path:
        sys.path.append(folder)  # last: whatever else is called like one of its rooms goes on being found
    try:
        return pkgutil.resolve_name(f"{_DRAWERS[name]}:{name}")
    except ImportError as error:
        raise UserError("The app's views are not installed beside the engine: install Headlight anew.") from error
