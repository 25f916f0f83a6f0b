"""The page Positions: one view at a time; a bias by distance takes the place of the waves where the model has one."""

from headlight.app import results
from headlight.app.choices import show_views
from headlight.app.results import TranslationRequest
from transformer.config import Positions

from . import relative, waves, word_order

VIEWS = {"word order": word_order.show, "waves": waves.show}
VIEWS_WITH_BIAS = {"word order": word_order.show, "relative bias": relative.show}


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    kind = results.translator(request.checkpoint).model.config.positions
    show_views(VIEWS_WITH_BIAS if kind == Positions.RELATIVE else VIEWS, "positions", request)
