"""A button that copies the address of what is shown: sentence, model, view and head are all in it."""

from headlight.components.bundle import component

_link = component("copy_link", "copy_link/link")


def copy_link(key: str) -> None:
    """Show the button."""
    _link({}, key)
