"""The measures that lessons ask for, by subject; importing this enters all of them into the register."""

from . import alignment, attention, explanation, heads

__all__ = ["alignment", "attention", "explanation", "heads"]
