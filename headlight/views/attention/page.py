"""The page on attention: one view at a time."""

from headlight.app.choices import view_of
from headlight.app.results import TranslationRequest

from . import attribution, explorer, rollout

_SHOW = {"explorer": explorer.show, "rollout": rollout.show, "attribution methods": attribution.show}
VIEWS = tuple(_SHOW)


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    _SHOW[view_of(VIEWS, "attention")](request)
