"""The page on interventions: one view at a time, each a run with something changed beside the unchanged one."""

from headlight.app.choices import show_views
from headlight.app.results import TranslationRequest

from . import ablation, own_translation, rewriting

VIEWS = {
    "head ablation": ablation.show,
    "rewrite attention": rewriting.show,
    "your translation": own_translation.show,
}


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    show_views(VIEWS, "what_if", request)
