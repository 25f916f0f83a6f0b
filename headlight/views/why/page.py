"""The page on what a token depends on: layers, source and prefix, and a candidate that was not chosen."""

from functools import partial

from headlight.app.choices import show_views

from . import contrast, early_layers, source_or_prefix

VIEWS = {"early layers": early_layers.show, "source or prefix": source_or_prefix.show, "contrast": contrast.show}
show_page = partial(show_views, VIEWS, "why")
