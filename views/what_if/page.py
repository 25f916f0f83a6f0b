"""The page on interventions: runs with something changed, beside the unchanged one."""

from session import Choice
from ui.choices import view_of

from . import ablation, early_layers, patching

_SHOW = {"head ablation": ablation.show, "patching": patching.show, "early layers": early_layers.show}
VIEWS = tuple(_SHOW)


def show_page(choice: Choice) -> None:
    """The view that the address asks for. Raises UserError."""
    _SHOW[view_of(VIEWS, "what_if")](choice)
