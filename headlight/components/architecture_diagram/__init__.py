"""The paper's figure 1 for a checkpoint, drawn in the browser; each box is a button."""

from collections.abc import Callable

from headlight.components.bundle import component

_diagram = component("architecture_diagram", "architecture_diagram/diagram")


def architecture_diagram(payload: dict, chosen: str, key: str, on_choice: Callable[[str], None]) -> None:
    """Show the boxes (see headlight/views/architecture/diagram_payload.py) with one chosen, by its name.

    Which layer of a stack is unfolded is the browser's own. Back comes the name of a box that was chosen.
    """
    _diagram({**payload, "chosen": chosen}, key, choice=lambda name: on_choice(str(name)))
