"""Selection of a visitor, shared by the pages, and its form in addresses."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from transformer.interpret.trace import RowLabel, Trace
from transformer.model.heads import Head, Heads, heads_address
from transformer.model.names import AttentionKind

NAMES = ("head", "query", "key")  # in an address
ROW_LABELS = {"output token": RowLabel.PREDICTED, "both tokens": RowLabel.BOTH, "input token": RowLabel.FED}


@dataclass(frozen=True)
class Selection:
    """Heads of one kind of attention, at least one, with queries and keys, all counted from 0."""

    heads: tuple[Head, ...]
    queries: tuple[int, ...] = ()
    keys: tuple[int, ...] = ()

    @property
    def head(self) -> Head:
        """Return the first head, which the other pages show."""
        return self.heads[0]

    @property
    def address(self) -> dict[str, str]:
        """Return the selection as an address has it, counted from 1."""
        numbers = numbers_address(self.queries), numbers_address(self.keys)
        return dict(zip(NAMES, (heads_address(self.heads), *numbers), strict=True))

    @classmethod
    def parse(cls, address: Mapping[str, str], trace: Trace, start: Heads) -> Self:
        """Return the selection of an address; what the trace does not have is left out, heads replaced by `start`."""
        heads = _parse_heads(address.get("head", ""), trace) or _expand([start], trace)
        *_, queries, keys = trace.attention(heads[0].kind).shape
        numbers = (parse_numbers(address.get(name, ""), count) for name, count in (("query", queries), ("key", keys)))
        return cls(heads, *numbers)


def parse_numbers(text: str, count: int) -> tuple[int, ...]:
    """Return the numbers from 0 below `count` that a text such as "2.5" names, which counts from 1."""
    if not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,4})*", text, re.ASCII):
        return ()
    return tuple(sorted({number - 1 for number in map(int, text.split(".")) if 0 < number <= count}))


def parse_ids(text: str) -> tuple[int, ...]:
    """Return the token ids of a text such as "258.15"; none of any other text."""
    return tuple(map(int, text.split("."))) if re.fullmatch(r"[0-9]{1,7}(\.[0-9]{1,7}){0,200}", text) else ()


def shapes_of(trace: Trace, kinds: Iterable[str] = AttentionKind) -> dict[str, tuple[int, ...]]:
    """Return the number of layers and of heads of each kind, as `Heads.fits` reads them."""
    return {kind: trace.attention(kind).shape[:2] for kind in kinds}


def numbers_address(numbers: Iterable[int]) -> str:
    """Return numbers from 0 as an address has them: "2.5", counted from 1."""
    return ".".join(str(number + 1) for number in numbers)


def _parse_heads(text: str, trace: Trace) -> tuple[Head, ...]:
    """Return the heads of an address, "cross.1.1-cross.3.2" or "cross.2.all"; none where one is invalid."""
    heads = [head for each in text.split("-") if (head := Heads.parse(each)) is not None]
    shapes = shapes_of(trace)
    is_valid = len(heads) == text.count("-") + 1 and all(
        head.kind == heads[0].kind and head.fits(shapes) for head in heads
    )
    return _expand(heads, trace) if is_valid else ()


def _expand(heads: Iterable[Heads], trace: Trace) -> tuple[Head, ...]:
    """Return the single heads that these stand for, each once."""
    return tuple(
        dict.fromkeys(
            Head(each.kind, layer, head)
            for each in heads
            for layer, head in np.ndindex(trace.attention(each.kind).shape[:2])
            if each.holds(each.kind, layer, head)
        )
    )
