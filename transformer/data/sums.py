"""Sums over sentences: batches of sentences of like length, and the addition of their parts."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol, Self, TypeVar

from .batching import Example, Examples, fill_batches

TOKENS_PER_BATCH = 1024  # padding included: more is no faster on a CPU


class Addable(Protocol):
    """Result of a measurement over some sentences; `+` pools two results."""

    def __add__(self, other: Any, /) -> Self: ...


P = TypeVar("P", bound=Addable)


def sorted_batches(examples: Iterable[Example]) -> list[list[Example]]:
    """Return batches of at most TOKENS_PER_BATCH tokens, sentences of like length together."""
    ordered = sorted(examples, key=lambda example: (example.length, len(example.source)))
    return fill_batches(ordered, TOKENS_PER_BATCH)


def add_up(measure: Callable[[Examples], P], examples: Examples, progress: Callable[[int], None] | None = None) -> P:
    """Measure sentences in batches and return the sum; `progress` is called with the number of sentences done.

    Raises ValueError without sentences.
    """
    if not examples:
        raise ValueError("at least one sentence pair expected")
    total, done = None, 0
    for batch in sorted_batches(examples):
        part = measure(batch)
        total = part if total is None else total + part
        done += len(batch)
        if progress:
            progress(done)
    assert total is not None, "sentences are in batches"
    return total
