"""The page on logits: one view at a time, each imported when it is first shown."""

from session import Choice
from ui.choices import one_of

VIEWS = ("one step", "logit lens", "calibration")


def show_page(choice: Choice) -> None:
    """The view that the address asks for. Raises UserError."""
    match one_of("Show", VIEWS, "logits"):
        case "one step":
            from .step import show
        case "logit lens":
            from .lens import show
        case "calibration":
            from .calibration import show
    show(choice)
