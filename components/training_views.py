"""The views of the page on training; each module is read when its view is asked for."""

import importlib
from collections.abc import Callable

from .sidebar import Choice

_MODULES = {
    "train live": "live_view",
    "film": "film_view",
    "knobs": "knobs_view",
    "rate": "rate_view",
    "label smoothing": "smoothing_view",
    "batches": "batches_view",
}


def _shown_by(module: str) -> Callable[[Choice], None]:
    return lambda choice: importlib.import_module(f".{module}", __package__).show(choice)


VIEWS = {name: _shown_by(module) for name, module in _MODULES.items()}
