"""The measures that lessons ask for, by subject; importing this enters all of them into the register."""

# ruff: noqa: F401
from . import (
    alignment,
    attention,
    decoding,
    explanation,
    hand,
    heads,
    learning,
    masks,
    one_stack,
    order,
    parts,
    scaling,
)
