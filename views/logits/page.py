"""The page on logits: one view at a time."""

from session import Choice
from ui.choices import one_of

from .views import show_calibration, show_lens, show_step

_SHOW = {"one step": show_step, "logit lens": show_lens, "calibration": show_calibration}
VIEWS = tuple(_SHOW)


def show_page(choice: Choice) -> None:
    """The view that the address asks for. Raises UserError."""
    _SHOW[one_of("Show", VIEWS, "logits")](choice)
