"""A beam search as a tree of buttons, from the first token on the left to the translations that ended."""

from collections.abc import Callable

from headlight.components.bundle import component

_tree = component("beam_tree", "beam_tree/tree")


def beam_tree(payload: dict, key: str, on_choice: Callable[[str], None]) -> None:
    """Show the tree (see headlight/views/what_if/beam_tree_payload.py).

    Back come the token ids of a branch that was chosen, joined by dots: the search is to go on from there.
    """
    _tree(payload, key, choice=lambda ids: on_choice(str(ids)))
