"""The page on interventions and on what a token depends on: one view at a time."""

from session import Choice
from ui.choices import view_of

from . import ablation, own_translation, source_or_prefix, why_token

_SHOW = {
    "head ablation": ablation.show,
    "source or prefix": source_or_prefix.show,
    "why this token": why_token.show,
    "your translation": own_translation.show,
}
VIEWS = tuple(_SHOW)


def show_page(choice: Choice) -> None:
    """The view that the address asks for. Raises UserError."""
    _SHOW[view_of(VIEWS, "what_if")](choice)
