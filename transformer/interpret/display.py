"""How a trace shows itself in a notebook and as a page: drawn by the explorer, which lies above the engine.

The engine imports nothing above it. As an entry point does, it names the functions that draw, and they are looked up
when somebody wants to see a trace.
"""

import html
import pkgutil
import sys
from collections.abc import Callable

from ..errors import UserError
from ..files import app_folder

_DRAWERS = "views.attention.explorer_html"
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


def drawer(name: str) -> Callable:
    """The function of this name that draws traces; raises UserError where only the engine is installed."""
    if (folder := str(app_folder())) not in sys.path:
        sys.path.append(folder)  # last: whatever else is called like one of its rooms goes on being found
    try:
        return pkgutil.resolve_name(f"{_DRAWERS}:{name}")
    except ImportError as error:
        raise UserError("The explorer is not installed beside the engine: install Headlight anew.") from error
