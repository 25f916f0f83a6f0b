"""The page on interventions: one view at a time, each a run with something changed beside the unchanged one."""

from headlight.app.choices import show_views
from headlight.app.results import TranslationRequest

from . import ablation, beam_tree, compare, own_translation, patching, rewriting

VIEWS = {
    "head ablation": ablation.show,
    "rewrite attention": rewriting.show,
    "patching": patching.show,
    "your translation": own_translation.show,
    "beam tree": beam_tree.show,
    "compare": compare.show,
}


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    show_views(VIEWS, "what_if", request, ("patching",) if patching.ignores_sentence(request) else ())
