"""The page on training: one view at a time, each imported when it is first shown."""

from headlight.app.choices import view_of
from headlight.app.results import TranslationRequest

VIEWS = ("train live", "training replay", "compare runs", "learning-rate schedule", "label smoothing", "batches")
WITHOUT_SENTENCE = ("train live", "training replay", "compare runs", "learning-rate schedule", "batches")


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    match view_of(VIEWS, "training", WITHOUT_SENTENCE):
        case "train live":
            from .live import show
        case "training replay":
            from .replay import show
        case "compare runs":
            from .compare import show
        case "learning-rate schedule":
            from .learning_rate import show
        case "label smoothing":
            from .label_smoothing import show
        case "batches":
            from .batching import show
    show(request)
