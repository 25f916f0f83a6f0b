"""The page on the architecture: one view at a time."""

from session import Choice
from ui.choices import one_of

from . import diagram, views

_SHOW = {
    "diagram": diagram.show,
    "trajectory": views.show_trajectory,
    "embeddings": views.show_embeddings,
    "feed-forward": views.show_feed_forward,
    "pre-norm and post-norm": views.show_norm_placement,
}
VIEWS = tuple(_SHOW)


def show_page(choice: Choice) -> None:
    """The view that the address asks for. Raises UserError."""
    _SHOW[one_of("Show", VIEWS, "architecture")](choice)
