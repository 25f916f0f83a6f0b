"""Settings and status of a toy training: the interface between a server and the process of a training."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ..config import ModelConfig, Norm, Positions, check_bounds, check_types, require

SYMBOLS = {"letters": "abcdefghijklmnopqrstuvwxyz", "digits": "0123456789"}


class Task(StrEnum):
    """Task: copy, reverse or sort."""

    COPY = "copy"
    REVERSE = "reverse"
    SORT = "sort"

    def answer(self, sequence: Sequence) -> list:
        """Return the sequence that is to be written."""
        if self is Task.SORT:
            return sorted(sequence)
        return list(sequence) if self is Task.COPY else list(reversed(sequence))

    def positions(self, sequence: Sequence) -> list[set[int]]:
        """Return the source positions of each symbol of the answer: several where a sorted symbol recurs."""
        if self is Task.SORT:
            return [{index for index, symbol in enumerate(sequence) if symbol == each} for each in sorted(sequence)]
        return [{index} for index in self.answer(range(len(sequence)))]


class ToyTokenizer:
    """The tokens of a toy task: padding, begin and end of sequence, then the symbols in their order."""

    pad_id, begin_id, end_id, first_id = 0, 1, 2, 3

    def __init__(self, symbols: str, vocabulary: int):
        self._texts = ["<pad>", "<s>", "</s>", *SYMBOLS[symbols][:vocabulary]]
        self._ids = {text: token_id for token_id, text in enumerate(self._texts)}

    def __len__(self) -> int:
        return len(self._texts)

    def encode(self, text: str) -> list[int]:
        """Ids of symbols with spaces between; raises KeyError for another symbol."""
        return [self._ids[symbol] for symbol in text.split()]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the symbols with spaces between; special tokens leave nothing behind."""
        return " ".join(self._texts[token_id] for token_id in ids if token_id >= self.first_id)

    def piece_text(self, token_id: int) -> str:
        """Return the text of one token."""
        return self._texts[token_id]


STATUS_FILE = "status.json"
UNTIL_INPUT_ENDS = "--until-input-ends"  # of the command
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


class ToySchedule(StrEnum):
    """Learning rate: it rises and falls (paper, eq. 3), rises and stays, or is constant."""

    NOAM = "noam"
    CONSTANT = "constant"
    NONE = "none"


@dataclass(frozen=True)
class ToySettings:
    """A task, a model and how it is trained; the same settings give the same run.

    `vocabulary` symbols, sequences of `length` of them; `num_layers` in the encoder and as many in the decoder. For
    every schedule the peak of the rate is rate_factor d_model^-0.5 warmup_steps^-0.5. A run ends when `goal` of the
    held-out sequences are written entirely right, or after `max_updates`. Raises ConfigError for what cannot be.
    """

    task: Task = Task.REVERSE
    symbols: str = "letters"
    vocabulary: int = 11
    length: int = 10
    d_model: int = 64
    num_layers: int = 2
    num_heads: int = 8
    norm: Norm = Norm.PRE
    positions: Positions = Positions.SINUSOIDAL
    schedule: ToySchedule = ToySchedule.NOAM
    warmup_steps: int = 200
    rate_factor: float = 0.4
    label_smoothing: float = 0.0
    seed: int = 1
    goal: float = 0.99
    max_updates: int = 2000

    def __post_init__(self):
        check_types(self)
        require(self.symbols in SYMBOLS, f"symbols must be one of {', '.join(SYMBOLS)}, not {self.symbols!r}.")
        check_bounds(self, _BOUNDS)
        self._check_number_of_sequences()
        require(0 <= self.label_smoothing < 1, f"label_smoothing must be in [0, 1), not {self.label_smoothing}.")
        require(0 < self.rate_factor <= 100, f"rate_factor must be in (0, 100], not {self.rate_factor}.")
        require(0 < self.goal <= 1, f"goal must be in (0, 1], not {self.goal}.")
        self.model_config()  # refuses an unknown norm, heads that do not divide d_model, an odd d_model

    def model_config(self) -> ModelConfig:
        """Return the model's shape; its dropout is 0, for there is always a new example."""
        tokenizer = self.tokenizer()
        return ModelConfig(
            vocab_size=len(tokenizer),
            num_encoder_layers=self.num_layers,
            num_decoder_layers=self.num_layers,
            num_heads=self.num_heads,
            d_model=self.d_model,
            d_ff=4 * self.d_model,
            dropout=0.0,
            max_length=self.length + 1,
            norm=self.norm,
            positions=self.positions,
            pad_id=tokenizer.pad_id,
            begin_id=tokenizer.begin_id,
            end_id=tokenizer.end_id,
        )

    def tokenizer(self) -> ToyTokenizer:
        """Return the tokens of its task."""
        return ToyTokenizer(self.symbols, self.vocabulary)

    def _check_number_of_sequences(self) -> None:
        vocabulary, available, sequences = self.vocabulary, len(SYMBOLS[self.symbols]), self.vocabulary**self.length
        require(vocabulary <= available, f"There are {available} {self.symbols}; {vocabulary} were asked for.")
        message = (
            f"{vocabulary} symbols make only {sequences} sequences of length {self.length}: the model could learn them "
            f"by heart. Take more symbols or a longer sequence; {_LEAST_SEQUENCES:,} sequences are the least."
        )
        require(sequences >= _LEAST_SEQUENCES, message)


@dataclass(frozen=True)
class ToyStatus:
    """Status of a run: updates done, mean loss in nats per token, share of held-out sequences that are all right.

    `loss` is None before the first update, `measured` the number of sequences behind `exact_match`. `end` says how the
    run ended: "goal", "limit", or "" while it goes on; `symbols_when_longer` is then the share of symbols that stand
    right in sequences twice as long as any that were trained on, None with learned positions.
    """

    update: int
    loss: float | None
    exact_match: float
    measured: int
    seconds: float
    updates_a_second: float
    end: str
    symbols_when_longer: float | None = None
