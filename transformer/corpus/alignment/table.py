"""Error rates of a model against a gold set, their standard errors, and the head chosen on one half of the sentences
and judged on the other; saved beside a checkpoint, and checked when read.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...data.frames import cell_columns
from ...files import write_atomically
from ...model.transformer import Transformer
from ..stored import Positive, encode, reading_stored
from .aligners import MARKS, Aligner, AlignmentCounts, Method, aligners_of, name_columns
from .links import COUNTS, Reading, error_rate

if TYPE_CHECKING:
    import pandas

ALIGNMENT_FILE = "alignment.json"
RESAMPLES = 1000
_MOST = 2**53  # links of a gold set


@dataclass(frozen=True)
class Chosen:
    """Head with the lowest error rate on one half of the sentences, and its rate on the other half.

    half: the half of the choice, 0 for the first, third, ... sentence, 1 for the second, fourth, ...; `there`: the rate
    on it; `elsewhere`: on the other half, with its standard error; rates from 0 to 1. punctuation: True where counted.
    """

    head: Aligner
    reading: Reading
    punctuation: bool
    half: int
    there: float
    elsewhere: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class AlignmentTable:
    """Counts over the `sentences` of the gold set `gold`, with weights of the SHA-256 `weights`.

    halves: [2, aligners, readings, marks, `COUNTS`], int, summed over the first, third, ... sentence and over the
    others; errors: [3, aligners, readings, marks], standard errors of the rates of both halves and of all sentences.
    readings in the order of `Reading`; marks: with punctuation first, then without.
    """

    gold: str
    sentences: Positive
    weights: str
    aligners: tuple[Aligner, ...]
    halves: np.ndarray
    errors: np.ndarray

    def __post_init__(self) -> None:
        shape = len(self.aligners), len(Reading), len(MARKS)
        if self.halves.shape != (2, *shape, len(COUNTS)) or self.errors.shape != (3, *shape):
            raise ValueError(f"its numbers are not {' x '.join(map(str, shape))}")
        if self.halves.dtype.kind != "i" or self.halves.min() < 0 or self.halves.max() > _MOST:
            raise ValueError("its counts are no counts")
        sure_hits, possible_hits, links, sure = np.moveaxis(self.halves, -1, 0)
        if (sure_hits > possible_hits).any() or (possible_hits > links).any() or (sure_hits > sure).any():
            raise ValueError("it counts more hits than links")
        if not sure.sum() or self.errors.min() < 0 or self.errors.max() > 1:
            raise ValueError("it has no sure link, or a standard error not from 0 to 1")

    @property
    def rates(self) -> np.ndarray:
        """Compute the error rates over all sentences, NaN without any link: [aligners, readings, marks]."""
        return error_rate(self.halves.sum(axis=0))

    def rate(self, aligner: Aligner, reading: Reading | str, *, punctuation: bool = True) -> tuple[float, float]:
        """Return one error rate and its standard error, from 0 to 1."""
        cell = self.aligners.index(aligner), list(Reading).index(Reading(reading)), MARKS.index(punctuation)
        return float(self.rates[cell]), float(self.errors[2][cell])

    def best_rate(self, layer: int, head: int) -> tuple[float, float] | None:
        """Return a head's error rate by the better of both readings, punctuation counted, and its standard error; None
        without any link.
        """
        rates = (self.rate(Aligner(Method.HEAD, layer, head), reading) for reading in Reading)
        return min((rate for rate in rates if np.isfinite(rate[0])), default=None)

    def best_head(self) -> tuple[Aligner, Reading]:
        """Return the head and reading of the lowest error rate over all sentences, punctuation counted."""
        return self._best(self.rates[..., MARKS.index(True)], list(Reading))

    def chosen_heads(self) -> list[Chosen]:
        """Choose a head on each half in turn and judge it on the other: for each reading, with punctuation and without.

        The lowest of many error rates is too low for other sentences: only the other half's should be reported.
        """
        rates, heads_chosen = error_rate(self.halves), []
        for marks, punctuation in enumerate(MARKS):
            for reading in Reading:
                for half in (0, 1):
                    head, _ = self._best(rates[half, ..., marks], [reading])
                    cell = self.aligners.index(head), list(Reading).index(reading), marks
                    numbers = (
                        float(each) for each in (rates[half][cell], rates[1 - half][cell], self.errors[1 - half][cell])
                    )
                    heads_chosen.append(Chosen(head, reading, punctuation, half, *numbers))
        return heads_chosen

    def _best(self, rates: np.ndarray, readings: list[Reading]) -> tuple[Aligner, Reading]:
        columns = [list(Reading).index(reading) for reading in readings]
        heads = np.array([each.method == Method.HEAD for each in self.aligners])
        among = np.where(heads[:, None] & np.isfinite(rates), rates, np.inf)[:, columns]
        row, column = np.unravel_index(among.argmin(), among.shape)
        return self.aligners[row], readings[column]

    def to_frame(self) -> "pandas.DataFrame":
        """List the rates over all sentences: method, layer and head from 0, reading, punctuation, error_rate,
        standard_error, and the counts, of which the rate is 1 - (sure_hits + possible_hits) / (links + sure).
        """
        import pandas  # not needed to translate

        counts = self.halves.sum(axis=0)
        columns = cell_columns(
            ("aligner", "reading", "punctuation"),
            error_rate=self.rates,
            standard_error=self.errors[2],
            **{name: counts[..., index] for index, name in enumerate(COUNTS)},
        )
        return name_columns(pandas.DataFrame(columns), self.aligners)


def tabulate(counts: AlignmentCounts, *, weights: str = "", seed: int = 0) -> AlignmentTable:
    """Sum the counts of sentences up, with standard errors by drawing sentences anew (bootstrap, Efron 1979)."""
    parts = [counts.counts[0::2], counts.counts[1::2]]
    halves = np.stack([part.sum(axis=0) for part in parts])
    errors = np.stack([standard_errors(part, seed) for part in (*parts, counts.counts)])
    return AlignmentTable(counts.gold, len(counts.lines), weights, counts.aligners, halves, errors)


def standard_errors(counts: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return the standard deviation of the error rate over `RESAMPLES` draws of as many sentences: [...].

    counts: [sentences, ..., 4]; 0 where there are fewer than two sentences, or no links.
    """
    sentences, shape = len(counts), counts.shape[1:]
    if sentences < 2:
        return np.zeros(shape[:-1])
    drawn = np.random.default_rng(seed).multinomial(sentences, [1 / sentences] * sentences, size=RESAMPLES)
    sums = drawn.astype(np.float64) @ counts.reshape(sentences, -1)
    rates = error_rate(sums.reshape(RESAMPLES, *shape))
    known = np.isfinite(rates)
    means = np.where(known, rates, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    squares = np.where(known, (rates - means) ** 2, 0).sum(axis=0)
    return np.asarray(np.sqrt(squares / np.maximum(known.sum(axis=0) - 1, 1)))


def save_alignment(path: Path, table: AlignmentTable) -> None:
    """Write a table as JSON; raises OSError."""
    write_atomically(path, encode(replace(table, errors=table.errors.round(5))))


def load_alignment(path: Path, model: Transformer) -> AlignmentTable:
    """Read what `save_alignment` wrote for a model of this shape; raises CheckpointError for anything else."""
    with reading_stored(path, AlignmentTable) as table:
        if table.aligners != aligners_of(model):
            raise ValueError("its heads are not those of the model")
        return table


def find_alignment(folder: Path, model: Transformer) -> AlignmentTable | None:
    """Return the alignment table of a checkpoint's folder, None where there is none; raises as `load_alignment`."""
    path = Path(folder) / ALIGNMENT_FILE
    return load_alignment(path, model) if path.is_file() else None
