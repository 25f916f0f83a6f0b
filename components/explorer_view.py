"""The explorer of all heads on a page, its choice in the address."""

from figures.explorer import explorer_blob
from transformer.trace import Trace

from . import address
from .attention_explorer import attention_explorer

_DEFAULTS = {
    "kind": "cross", "view": "map", "heads": "1.1", "tokens": "", "words": "pieces", "specials": "shown", "top": "100",
    "scale": "0 to 1", "sort": "layer", "label": "all",
}  # fmt: skip
_PREFIX = "see_"  # of the names in the address: other pages have a kind and a head of their own


def show_explorer(trace: Trace) -> None:
    """All heads of all kinds, linked."""
    written = {name: address.remembered(_PREFIX + name, default) for name, default in _DEFAULTS.items()}
    attention_explorer(explorer_blob(trace), written, "explorer", _remember)


def _remember(written: dict[str, str]) -> None:
    for name, default in _DEFAULTS.items():
        address.remember(_PREFIX + name, str(written.get(name, default)), default)
