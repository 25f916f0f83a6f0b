"""Toy tasks: copy, reverse or sort a sequence of symbols; small enough to be learned while one watches."""

from collections.abc import Sequence
from enum import StrEnum

SYMBOLS = {"letters": "abcdefghijklmnopqrstuvwxyz", "digits": "0123456789"}


class Task(StrEnum):
    """What is to be made of a sequence."""

    COPY = "copy"
    REVERSE = "reverse"
    SORT = "sort"

    def answer(self, sequence: Sequence) -> list:
        """The sequence that is to be written."""
        if self is Task.SORT:
            return sorted(sequence)
        return list(sequence) if self is Task.COPY else list(reversed(sequence))

    def positions(self, sequence: Sequence) -> list[set[int]]:
        """For each symbol of the answer, where it may be read from: several places where a sorted symbol recurs."""
        if self is Task.SORT:
            return [{place for place, symbol in enumerate(sequence) if symbol == wanted} for wanted in sorted(sequence)]
        return [{place} for place in self.answer(range(len(sequence)))]


class ToyTokenizer:
    """The tokens of a toy task: padding, begin and end of sequence, then the symbols in their order."""

    pad_id, begin_id, end_id, first_id = 0, 1, 2, 3

    def __init__(self, symbols: str, vocabulary: int):
        self._texts = ["<pad>", "<s>", "</s>", *SYMBOLS[symbols][:vocabulary]]
        self._ids = {text: id for id, text in enumerate(self._texts)}

    def __len__(self) -> int:
        return len(self._texts)

    def encode(self, text: str) -> list[int]:
        """Ids of symbols with spaces between; raises KeyError for another symbol."""
        return [self._ids[symbol] for symbol in text.split()]

    def decode(self, ids: Sequence[int]) -> str:
        """The symbols with spaces between; special tokens leave nothing behind."""
        return " ".join(self._texts[id] for id in ids if id >= self.first_id)

    def piece_text(self, id: int) -> str:
        """The text of one token."""
        return self._texts[id]
