"""The page on what a token depends on: layers, source and prefix, and a candidate that was not chosen."""

from headlight.app.choices import view_of
from headlight.app.results import TranslationRequest

from . import contrast, early_layers, source_or_prefix

_SHOW = {"early layers": early_layers.show, "source or prefix": source_or_prefix.show, "contrast": contrast.show}
VIEWS = tuple(_SHOW)


def show_page(request: TranslationRequest) -> None:
    """The view that the address asks for. Raises UserError."""
    _SHOW[view_of(VIEWS, "why")](request)
