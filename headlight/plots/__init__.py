"""Figures of a translation and its model, for notebooks and scripts, and for the app's pages.

    import headlight as hl

    model = hl.load("en-de")
    trace = model.trace("I love my teacher.")
    hl.plots.head(trace, "cross", layer=2, head=4)

Each function draws a trace, or a measure of `transformer` that its description names, and returns a Plotly figure.
With `theme="page"` the browser replaces some colours by those of the app's theme; "paper" is for a light background.
Layers, heads, steps, tokens and positions count from 0.
"""

from typing import Any

from transformer import open_door

_import_name, __all__ = open_door(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Import the figure of this name; raises ImportError with the command to run where Plotly is not installed."""
    try:
        return _import_name(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "plotly":
            raise
        raise ImportError('Figures need Plotly: pip install "headlight-transformer[plots]".') from error
