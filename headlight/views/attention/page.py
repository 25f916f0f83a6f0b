"""The page on attention: one view at a time."""

from headlight.app.choices import view_of
from headlight.app.results import Choice

from . import beyond_weights, explorer, rollout

_SHOW = {"explorer": explorer.show, "rollout": rollout.show, "attribution methods": beyond_weights.show}
VIEWS = tuple(_SHOW)


def show_page(choice: Choice) -> None:
    """The view that the address asks for. Raises UserError."""
    _SHOW[view_of(VIEWS, "attention")](choice)
