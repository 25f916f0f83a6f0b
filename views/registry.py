"""Views of a page by their names; the module of each is read when it is asked for."""

import importlib
from collections.abc import Callable, Mapping


def views_in(modules: Mapping[str, str]) -> dict[str, Callable]:
    """From names to what shows them, given the modules that hold a `show(choice)`."""
    return {name: _shown_by(module) for name, module in modules.items()}


def _shown_by(module: str) -> Callable:
    return lambda choice: importlib.import_module(module).show(choice)
