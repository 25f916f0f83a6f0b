"""One attention head and sets of heads, in code and in addresses."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from .names import AttentionKind

EVERY = "all"  # in place of a number
_TEXT = re.compile(rf"({'|'.join(AttentionKind)})\.([1-9]\d{{0,3}}|{EVERY})\.([1-9]\d{{0,3}}|{EVERY})", re.ASCII)


@dataclass(frozen=True)
class Heads:
    """Heads of one kind of attention: layer and head count from 0, None stands for every one. A `Head` is one alone."""

    kind: AttentionKind
    layer: int | None
    head: int | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", AttentionKind(self.kind))
        for number in (self.layer, self.head):
            if number is not None and number < 0:
                raise ValueError(f"layers and heads count from 0, got {number}")

    @property
    def address(self) -> str:
        """Return the text for addresses, counted from 1: "cross.3.4", "cross.all.all" for every head."""
        layer, head = (EVERY if number is None else number + 1 for number in (self.layer, self.head))
        return f"{self.kind}.{layer}.{head}"

    @classmethod
    def of(cls, kind: AttentionKind | str, layer: int | None, head: int | None) -> "Heads":
        """Return heads of a kind, a `Head` where there is a number of both."""
        if layer is None or head is None:
            return Heads(AttentionKind(kind), layer, head)
        return Head(AttentionKind(kind), layer, head)

    @classmethod
    def parse(cls, text: str) -> Optional["Heads"]:
        """Return the heads of an address, a `Head` where it names one; None for any other text."""
        match = _TEXT.fullmatch(text)
        if match is None:
            return None
        layer, head = (None if number == EVERY else int(number) - 1 for number in match.groups()[1:])
        return cls.of(match[1], layer, head)

    def fits(self, shapes: Mapping[Any, tuple[int, ...]]) -> bool:
        """Return whether a model has such heads. shapes: layers and heads of each kind."""
        shape = shapes.get(self.kind, (0, 0))
        return all((number or 0) < count for number, count in zip((self.layer, self.head), shape, strict=True))

    def holds(self, kind: AttentionKind, layer: int, head: int | None = None) -> bool:
        """Return whether a head is among these; without a head, whether any of a layer is."""
        return self.kind == kind and self.layer in (None, layer) and (head is None or self.head in (None, head))


@dataclass(frozen=True)
class Head(Heads):
    """One attention head; layer and head count from 0."""

    layer: int
    head: int

    @property
    def index(self) -> tuple[int, int]:
        """Return layer and head, the index in an array [layers, heads, ...]."""
        return self.layer, self.head


def parse_heads(text: str, shapes: Mapping[Any, tuple[int, ...]]) -> tuple[Head, ...]:
    """Return the single heads of an address, "cross.3.4-encoder.1.2", that a model has, each once."""
    parsed = map(Heads.parse, text.split("-"))
    return tuple(dict.fromkeys(each for each in parsed if isinstance(each, Head) and each.fits(shapes)))


def heads_address(heads: Sequence[Heads]) -> str:
    """Return heads as an address has them: "cross.3.4-encoder.1.2"."""
    return "-".join(each.address for each in heads)
