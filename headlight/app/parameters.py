"""Registry of URL query parameters: their pages and their defaults."""

import tomllib
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A name in the address: its meaning, its value where the address has none, and the limits of a number."""

    meaning: str
    default: str | int | float | None = None
    limits: Sequence[float] | None = None


_FILE = Path(__file__).with_name("parameters.toml")
_TABLES = {
    table: {name: Parameter(**fields) for name, fields in parameters.items()}
    for table, parameters in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()
}
_BAR, _SHARED = _TABLES.pop("bar"), _TABLES.pop("shared")
_SHARED_BY = {  # of the parameters of several pages those that a page reads
    "home": ("head", "rows"),
    "decoding": ("head", "step"),
    "attention": ("head", "query", "key", "rows"),
    "what_if": ("head",),
    "inside": ("head", "query", "key", "rows"),
    "positions": ("side",),
    "training": ("head",),
    "research": ("head", "query", "key", "step", "side", "token"),
}
PARAMETERS = {name: each for parameters in (_BAR, _SHARED, *_TABLES.values()) for name, each in parameters.items()}


# Parameters of "step by step", which the page Inside once opened with.
_OF_STEPS = {"head", "query", "key", "at_dimension", "at_step", "rows"}


def view_of_old_address(page: str, names: Set[str]) -> dict[str, str]:
    """Return the view that an address without one has meant, where the page now opens with another."""
    is_old = page == "inside" and not names & {"inside", "moment"} and names & _OF_STEPS
    return {"inside": "step by step"} if is_old else {}


def names_of(page: str) -> set[str]:
    """Return the names in the address of a page, with those of the bar."""
    return {*_BAR, *_TABLES.get(page, ()), *_SHARED_BY.get(page, ())}


def default_of(name: str) -> str:
    """Return the text of a name's default, "" for one without. Raises KeyError for an unknown name."""
    default = PARAMETERS[name].default
    return "" if default is None else str(default)
