"""The page on interventions: runs with something changed, beside the unchanged one."""

from session import Choice

from . import ablation


def show_page(choice: Choice) -> None:
    """The heads as switches. Raises UserError."""
    ablation.show(choice)
