"""The page on the inside of the model: one view at a time."""

from headlight.app.choices import show_views
from headlight.app.results import TranslationRequest

from . import masks, scaling, steps, toy, whole_pass

VIEWS = {
    "the whole pass": whole_pass.show,
    "step by step": steps.show,
    "small example": toy.show,
    "why √d_k": scaling.show,
    "masks": masks.show,
}


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    show_views(VIEWS, "inside", request)
