"""The page Training: one view at a time, each imported when it is first shown."""

from headlight.app import bar
from headlight.app.choices import view_of
from headlight.app.results import TranslationRequest

VIEWS = ("replay", "train live", "compare runs")


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    bar.hide_sentence()
    match view_of(VIEWS, "training"):
        case "replay":
            from .replay import show
        case "train live":
            from .live import show
        case "compare runs":
            from .compare import show
    show(request)
