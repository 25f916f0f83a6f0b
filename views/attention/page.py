"""The page on attention: one view at a time, each imported when it is first shown."""

from session import Choice
from ui.choices import one_of

VIEWS = ("explorer", "rollout", "attribution methods")


def show_page(choice: Choice) -> None:
    """The view that the address asks for. Raises UserError."""
    match one_of("Show", VIEWS, "attention"):
        case "explorer":
            from .explorer import show
        case "rollout":
            from .rollout import show
        case "attribution methods":
            from .beyond_weights import show
    show(choice)
