"""The page on the inside of attention: one view at a time."""

from headlight.app.choices import show_views
from headlight.app.results import TranslationRequest

from . import architecture, masks, scaling, steps, toy

VIEWS = {
    "step by step": steps.show,
    "architecture": architecture.show,
    "small example": toy.show,
    "why √d_k": scaling.show,
    "masks": masks.show,
}


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    show_views(VIEWS, "inside", request)
