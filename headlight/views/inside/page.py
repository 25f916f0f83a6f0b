"""The page on the inside of the model: one view at a time."""

from headlight.app.choices import show_views
from headlight.app.results import TranslationRequest

from . import masks, one_stack, scaling, steps, toy, whole_pass

VIEWS = {
    "the whole pass": whole_pass.show,
    "step by step": steps.show,
    "small example": toy.show,
    "why √d_k": scaling.show,
    "masks": masks.show,
    "one stack": one_stack.show,
}


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    offered = VIEWS if one_stack.is_offered() else {name: view for name, view in VIEWS.items() if name != "one stack"}
    show_views(offered, "inside", request)
