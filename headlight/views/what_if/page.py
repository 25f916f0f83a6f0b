"""The page on interventions: one view at a time, each a run with something changed beside the unchanged one."""

from functools import partial

from headlight.app.choices import show_views

from . import ablation, beam_tree, compare, own_translation, patching, rewriting

VIEWS = {
    "head ablation": ablation.show,
    "rewrite attention": rewriting.show,
    "patching": patching.show,
    "your translation": own_translation.show,
    "beam tree": beam_tree.show,
    "compare": compare.show,
}
show_page = partial(show_views, VIEWS, "what_if")
