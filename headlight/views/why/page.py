"""The page on what a token depends on: layers, source and prefix, and a candidate that was not chosen."""

from headlight.app.choices import show_views
from headlight.app.results import TranslationRequest

from . import contrast, early_layers, source_or_prefix

VIEWS = {"early layers": early_layers.show, "source or prefix": source_or_prefix.show, "contrast": contrast.show}


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    show_views(VIEWS, "why", request)
