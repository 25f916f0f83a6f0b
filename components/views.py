"""Views of a page by their names; the module of each is read when it is asked for."""

import importlib
from collections.abc import Callable, Mapping

from .sidebar import Choice


def views_in(modules: Mapping[str, str]) -> dict[str, Callable[[Choice], None]]:
    """From names to what shows them, given the modules here that hold a `show(choice)`."""
    return {name: _shown_by(module) for name, module in modules.items()}


def _shown_by(module: str) -> Callable[[Choice], None]:
    return lambda choice: importlib.import_module(f".{module}", __package__).show(choice)
