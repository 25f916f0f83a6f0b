"""The page on the architecture: one view at a time, each imported when it is first shown."""

from session import Choice
from ui.choices import one_of

VIEWS = ("diagram", "trajectory", "embeddings", "feed-forward", "pre-norm and post-norm")


def show_page(choice: Choice) -> None:
    """The view that the address asks for. Raises UserError."""
    match one_of("Show", VIEWS, "architecture"):
        case "diagram":
            from .diagram import show
        case "trajectory":
            from .trajectory import show
        case "embeddings":
            from .embeddings import show
        case "feed-forward":
            from .feed_forward import show
        case "pre-norm and post-norm":
            from .norm_placement import show
    show(choice)
