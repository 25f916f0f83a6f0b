"""One pass over a corpus of any length: chunks of lines are measured by an executor, and their parts are added up."""

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Generic

from ..data.batching import Examples, encode_pairs
from ..data.pairs import NoPairError, parse_pair, read_lines
from ..data.sums import P, add_up
from ..data.tokenizer import TextTokenizer
from ..errors import DataError
from ..model.transformer import Transformer
from ..translator import Translator
from .executors import Executor

logger = logging.getLogger(__name__)

LINES_PER_CHUNK = 512

Languages = tuple[str | None, str | None]  # of target and source
Measurement = Callable[[Transformer, TextTokenizer, Examples], P]


@dataclass(frozen=True)
class Corpus:
    """Files of sentence pairs: paths, SHA-256 of their contents, and the lines of all files together.

    languages: target and source, of a model that has several (`TextReader.addressed`).
    """

    paths: tuple[Path, ...]
    digests: tuple[str, ...]
    lines: int
    languages: Languages = (None, None)

    @classmethod
    def open(cls, paths: Sequence[Path], languages: Languages = (None, None)) -> "Corpus":
        """Read all files once. Raises DataError where a file cannot be read, all are empty, or two are the same."""
        digests, lines = [], 0
        for path in paths:
            digest = hashlib.sha256()
            for line in read_lines(path):
                digest.update(line)
                lines += 1
            if digest.hexdigest() in digests:
                raise DataError(f"The pairs of {path} would count twice: another file has the same.")
            digests.append(digest.hexdigest())
        if not lines:
            raise DataError(f"The corpus {', '.join(map(str, paths))} holds no line.")
        return cls(tuple(paths), tuple(digests), lines, languages)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the files without their folders."""
        return tuple(path.name for path in self.paths)

    def chunks(self, lines_per_chunk: int) -> Iterator[list[bytes]]:
        """Yield the lines of all files in chunks."""
        lines = chain.from_iterable(map(read_lines, self.paths))
        while chunk := list(islice(lines, lines_per_chunk)):
            yield chunk


@dataclass(frozen=True)
class Measured(Generic[P]):
    """Sum of a measurement over a corpus, and the numbers of skipped lines by reason."""

    total: P
    skipped: Counter[str]


def measure(
    corpus: Corpus,
    measurement: Measurement[P],
    executor: Executor,
    progress: Callable[[int], None] | None = None,
    lines_per_chunk: int = LINES_PER_CHUNK,
) -> Measured[P]:
    """Measure all sentence pairs of a corpus and add the parts up in the order of the corpus.

    measurement: a function of model, tokenizer and batch that other processes can unpickle. `progress` is called with
    the number of lines done. Batches are made within a chunk, so that the number of workers changes no batch. Raises
    DataError where no pair can be measured.
    """
    total: P | None = None
    skipped, done = Counter[str](), 0
    work = partial(_measure_chunk, measurement, corpus.languages)
    for part, reasons, lines in executor.map(work, corpus.chunks(lines_per_chunk)):
        if part is not None:
            total = part if total is None else total + part
        skipped += reasons
        done += lines
        if progress:
            progress(done)
    names, why = ", ".join(corpus.names), ", ".join(f"{count} {reason}" for reason, count in sorted(skipped.items()))
    if total is None:
        raise DataError(f"No pair of {names} can be measured: {why}.")
    if skipped:
        logger.warning("%s: skipped %s", names, why)
    return Measured(total, skipped)


def _measure_chunk(
    measurement: Measurement[P],
    languages: Languages,
    translator: Translator,
    lines: Sequence[bytes],
) -> tuple[P | None, Counter[str], int]:
    """Return the sum over some lines, None where none is a pair, with the skipped lines and the number of all lines."""
    model, tokenizer = translator.model, translator.tokenizer
    pairs, examples, skipped = [], [], Counter[str]()
    for line in lines:
        try:
            source, target = parse_pair(line)
            pairs.append((translator.addressed(source, *languages), target))
        except NoPairError as error:
            skipped[str(error)] += 1
    for example, reason in encode_pairs(pairs, tokenizer, model.config.max_length):
        if reason:
            skipped[reason] += 1
        else:
            examples.append(example)
    part = add_up(partial(measurement, model, tokenizer), examples) if examples else None
    return part, skipped, len(lines)
