"""The keys that every page hears: presentation mode, full screen, step by step, and the list of all keys."""

from collections.abc import Callable

from headlight.components.bundle import component

_presenter = component("presenter", "presenter/presenter")


def presenter(present: bool, key: str, on_present: Callable[[bool], None]) -> None:
    """Show the buttons for presenting and for the list of keys, and listen to the keys themselves.

    `present` says whether the page is being presented now; `on_present` hears when that is to change.
    """
    _presenter({"present": present}, key, present=on_present)
