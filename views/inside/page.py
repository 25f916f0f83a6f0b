"""The page on the inside of attention: one view at a time, each imported when it is first shown."""

from session import Choice
from ui.choices import one_of

VIEWS = ("step by step", "small example", "splitting into heads", "why √d_k")


def show_page(choice: Choice) -> None:
    """The view that the address asks for. Raises UserError."""
    match one_of("Show", VIEWS, "inside"):
        case "step by step":
            from .steps import show
        case "small example":
            from .toy import show
        case "splitting into heads":
            from .head_split import show
        case "why √d_k":
            from .scaling import show
    show(choice)
