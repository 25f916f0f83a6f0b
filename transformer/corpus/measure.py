"""One pass over a corpus of any length: chunks of lines are measured by an executor, and their parts are added up."""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic

from ..data.batching import Examples, encode_pairs
from ..data.pairs import NoPairError, parse_pair
from ..data.sums import P, add_up
from ..data.tokenizer import TextTokenizer
from ..errors import DataError
from ..model.transformer import Transformer
from ..translator import Translator
from .executors import Executor
from .provenance import Corpus, Languages

logger = logging.getLogger(__name__)

LINES_PER_CHUNK = 512

Measurement = Callable[[Transformer, TextTokenizer, Examples], P]


@dataclass(frozen=True)
class Measured(Generic[P]):
    """Sum of a measurement over a corpus, and the numbers of skipped lines by reason."""

    total: P
    skipped: Counter[str]


def measure_corpus(
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
    measurement: Measurement[P], languages: Languages, translator: Translator, lines: Sequence[bytes]
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
