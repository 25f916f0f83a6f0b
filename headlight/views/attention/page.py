"""The page Attention: one view at a time."""

from headlight.app.choices import show_views
from headlight.app.results import TranslationRequest

from . import explorer, one_head

VIEWS = {"explorer": explorer.show, "one head": one_head.show}


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    show_views(VIEWS, "attention", request)
