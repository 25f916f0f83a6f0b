"""The page on the inside of attention: one view at a time."""

from headlight.app.choices import view_of
from headlight.app.results import TranslationRequest

from . import head_split, scaling, steps, toy

_SHOW = {
    "step by step": steps.show,
    "small example": toy.show,
    "splitting into heads": head_split.show,
    "why √d_k": scaling.show,
}
VIEWS = tuple(_SHOW)


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    _SHOW[view_of(VIEWS, "inside")](request)
