"""The page on the inside of attention: one view at a time."""

from headlight.app.choices import show_views
from headlight.app.results import TranslationRequest

from . import head_split, scaling, steps, toy

VIEWS = {
    "step by step": steps.show,
    "small example": toy.show,
    "splitting into heads": head_split.show,
    "why √d_k": scaling.show,
}


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    show_views(VIEWS, "inside", request)
