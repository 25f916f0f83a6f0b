"""Figures of a translation and its model, for notebooks and scripts, and for the app's pages.

    import headlight as hl

    model = hl.load("en-de")
    trace = model.trace("I love my teacher.")
    hl.plots.head(trace, "cross", layer=2, head=4)

Each function draws a trace, or a measure of `transformer` that its description names, and returns a Plotly figure.
With `theme="page"` the browser replaces some colours by those of the app's theme; "paper" is for a light background.
Layers, heads, steps, tokens and positions count from 0.
"""

from transformer import open_door

__getattr__, __all__ = open_door(__name__, __file__)
