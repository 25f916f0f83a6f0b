"""The page on interventions: one view at a time, each a run with something changed beside the unchanged one."""

from headlight.app.choices import view_of
from headlight.app.results import TranslationRequest

from . import ablation, beam_tree, compare, own_translation, patching, rewriting

_SHOW = {
    "head ablation": ablation.show,
    "rewrite attention": rewriting.show,
    "patching": patching.show,
    "your translation": own_translation.show,
    "beam tree": beam_tree.show,
    "compare": compare.show,
}
VIEWS = tuple(_SHOW)


def show_page(request: TranslationRequest) -> None:
    """The view that the address asks for. Raises UserError."""
    _SHOW[view_of(VIEWS, "what_if")](request)
