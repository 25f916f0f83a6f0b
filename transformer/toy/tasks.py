"""Toy tasks: copy, reverse or sort a sequence of symbols; small enough to be learned while one watches."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..config import ModelConfig, Norm, Positions, check_types, require

TASKS = {"copy": "write the same again", "reverse": "write it backwards", "sort": "write it in order"}
SYMBOLS = {"letters": "abcdefghijklmnopqrstuvwxyz", "digits": "0123456789"}
SCHEDULES = ("noam", "constant", "none")

HELD_OUT = 500  # sequences to measure with, never trained on
_LEAST_SEQUENCES = 4 * HELD_OUT  # a task with fewer could be learned by heart
_BOUNDS = {
    "vocabulary": (2, 26),
    "length": (2, 20),
    "d_model": (8, 256),
    "num_layers": (1, 4),
    "num_heads": (1, 16),
    "warmup_steps": (1, 2000),
    "seed": (0, 9999),
    "max_updates": (1, 5000),
}


@dataclass(frozen=True)
class ToySettings:
    """A task, a model and how it is trained; the same settings give the same run.

    `vocabulary` symbols, sequences of `length` of them; `num_layers` in the encoder and as many in the decoder. For
    every schedule the peak of the rate is rate_factor d_model^-0.5 warmup_steps^-0.5: "noam" rises and falls (paper,
    eq. 3), "constant" rises and stays, "none" begins there. A run ends when `goal` of the held-out sequences are
    written entirely right, or after `max_updates`. Raises ConfigError for what cannot be.
    """

    task: str = "reverse"
    symbols: str = "letters"
    vocabulary: int = 11
    length: int = 10
    d_model: int = 64
    num_layers: int = 2
    num_heads: int = 8
    norm: str = "pre"
    positions: str = "sinusoidal"
    schedule: str = "noam"
    warmup_steps: int = 200
    rate_factor: float = 0.4
    label_smoothing: float = 0.0
    seed: int = 1
    goal: float = 0.99
    max_updates: int = 2000

    def __post_init__(self):
        check_types(self)
        choices = {
            "task": TASKS,
            "symbols": SYMBOLS,
            "norm": tuple(Norm),
            "positions": tuple(Positions),
            "schedule": SCHEDULES,
        }
        for name, valid in choices.items():
            value = getattr(self, name)
            require(value in valid, f"{name} must be one of {', '.join(valid)}, not {value!r}.")
        for name, (least, most) in _BOUNDS.items():
            value = getattr(self, name)
            require(least <= value <= most, f"{name} must be between {least} and {most}, not {value}.")
        there = len(SYMBOLS[self.symbols])
        require(self.vocabulary <= there, f"There are {there} {self.symbols}; {self.vocabulary} were asked for.")
        require(
            self.vocabulary**self.length >= _LEAST_SEQUENCES,
            f"{self.vocabulary} symbols make only {self.vocabulary**self.length} sequences of length {self.length}: "
            f"the model could learn them by heart. Take more symbols or a longer sequence; "
            f"{_LEAST_SEQUENCES:,} sequences are the least.",
        )
        require(0 <= self.label_smoothing < 1, f"label_smoothing must be in [0, 1), not {self.label_smoothing}.")
        require(0 < self.rate_factor <= 100, f"rate_factor must be in (0, 100], not {self.rate_factor}.")
        require(0 < self.goal <= 1, f"goal must be in (0, 1], not {self.goal}.")
        self.model_config()  # refuses heads that do not divide d_model, an odd d_model

    def model_config(self) -> ModelConfig:
        """The model's shape; its dropout is 0, for there is always a new example."""
        alphabet = Alphabet(self.symbols, self.vocabulary)
        return ModelConfig(
            vocab_size=len(alphabet), num_encoder_layers=self.num_layers, num_decoder_layers=self.num_layers,
            num_heads=self.num_heads, d_model=self.d_model, d_ff=4 * self.d_model, dropout=0.0,
            max_length=self.length + 1, norm=self.norm, positions=self.positions,
            pad_id=alphabet.pad_id, begin_id=alphabet.begin_id, end_id=alphabet.end_id,
        )  # fmt: skip


class Alphabet:
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


def answer(task: str, sequence: Sequence) -> list:
    """What the task makes of a sequence; raises ValueError for an unknown task."""
    if task == "copy":
        return list(sequence)
    if task == "reverse":
        return list(reversed(sequence))
    if task == "sort":
        return sorted(sequence)
    raise ValueError(f"task must be one of {', '.join(TASKS)}, got {task!r}")


def places(task: str, sequence: Sequence) -> list[set[int]]:
    """For each symbol of the answer, the places in the sequence that it may be read from: equal symbols for sort."""
    if task == "sort":
        return [{place for place, symbol in enumerate(sequence) if symbol == wanted} for wanted in sorted(sequence)]
    return [{place} for place in answer(task, range(len(sequence)))]


class ToyData:
    """Random sequences of a task with their answers; those held out are never among those trained on."""

    def __init__(self, settings: ToySettings):
        self.settings = settings
        self._random = random.Random(settings.seed)
        self._ids = range(Alphabet.first_id, Alphabet.first_id + settings.vocabulary)
        held_out = {}
        while len(held_out) < HELD_OUT:
            held_out[self._draw()] = None
        self.held_out = list(held_out)
        self._held_out = set(held_out)

    def batch(self, size: int) -> tuple[Tensor, Tensor, Tensor]:
        """Source, fed and predicted target of new sequences, each [size, length + 1]."""
        rows = []
        while len(rows) < size:
            row = self._draw()
            if row not in self._held_out:
                rows.append(row)
        begin, end = Alphabet.begin_id, Alphabet.end_id
        answers = [answer(self.settings.task, row) for row in rows]
        return (
            torch.tensor([[*row, end] for row in rows]),
            torch.tensor([[begin, *row] for row in answers]),
            torch.tensor([[*row, end] for row in answers]),
        )

    def sources(self, number: int) -> Iterator[tuple[list[int], tuple[int, ...]]]:
        """The first of the held-out sequences as the model reads them, each with the answer's ids, its end included."""
        end = Alphabet.end_id
        for row in self.held_out[:number]:
            yield [*row, end], (*answer(self.settings.task, row), end)

    def _draw(self) -> tuple[int, ...]:
        return tuple(self._random.choices(self._ids, k=self.settings.length))
