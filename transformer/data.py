"""Sentence pairs: reading them, turning them into ids, and packing them into batches of similar length."""

import gzip
import logging
import random
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from .errors import DataError
from .skipped import Skipped
from .tokenizer import Tokenizer

logger = logging.getLogger(__name__)


class Pairs(list):
    """Sentence pairs, source and target, and `lines`: the number of each one's line, from 1, in the file `name`."""

    def __init__(self, pairs: Iterable[tuple[str, str]], lines: Iterable[int], name: str):
        super().__init__(pairs)
        self.lines, self.name = list(lines), name


@dataclass(frozen=True)
class Example:
    """One pair as ids: `source` ends with end of sentence, `target` begins and ends with its special tokens.

    `lines` are those of the corpus that it comes from, as far as they are known.
    """

    source: tuple[int, ...]
    target: tuple[int, ...]
    lines: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        """Tokens of the longer side, as the model sees it (the target is fed without its last token)."""
        return max(len(self.source), len(self.target) - 1)


def read_pairs(path: Path) -> Pairs:
    """Read a TSV file (gzip by its name): source, tab, target, a line each, UTF-8.

    Lines without exactly one tab, with an empty side, or not in UTF-8 are skipped, and reported by reason with their
    numbers. Raises DataError when the file cannot be read or nothing usable is in it.
    """
    pairs, lines, skipped = [], [], Skipped()
    opener = gzip.open if str(path).endswith(".gz") else open
    try:
        with opener(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    pairs.append(_parse_pair(line))
                    lines.append(number)
                except _NoPairError as reason:
                    skipped.add(str(reason), number)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"The corpus {path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    if not pairs:
        why = skipped.report() or "it is empty"
        raise DataError(f"The corpus {path} holds no usable pair of source, tab, target in UTF-8: {why}.")
    if skipped:
        logger.warning("%s: skipped %s", path, skipped.report())
    return Pairs(pairs, lines, str(path))


def make_examples(pairs: Sequence[tuple[str, str]], tokenizer: Tokenizer, max_length: int) -> list[Example]:
    """Turn pairs into ids; those without or with too many tokens on a side are left out and reported in the log."""
    return fitting(pairs, tokenizer, max_length)[1]


def fitting(
    pairs: Sequence[tuple[str, str]], tokenizer: Tokenizer, max_length: int
) -> tuple[list[tuple[str, str]], list[Example]]:
    """The pairs that a model of `max_length` positions can be taught, and the same as ids.

    The others are reported in the log by reason, with their lines where `pairs` knows them. Raises DataError when
    nothing is left.
    """
    known = isinstance(pairs, Pairs)
    lines, name = (pairs.lines, pairs.name) if known else ([None] * len(pairs), "the corpus")
    sources = tokenizer.encode_all([source for source, _ in pairs])
    targets = tokenizer.encode_all([target for _, target in pairs])
    kept, examples, skipped = [], [], Skipped()
    for pair, line, source, target in zip(pairs, lines, sources, targets, strict=True):
        places = (line,) if known else ()
        example = Example((*source, tokenizer.end_id), (tokenizer.begin_id, *target, tokenizer.end_id), places)
        if not source or not target:
            skipped.add("with a side that has no token", line)
        elif example.length > max_length:
            skipped.add(f"longer than {max_length} tokens a side", line)
        else:
            kept.append(pair)
            examples.append(example)
    if not examples:
        why = skipped.report() or "there is none"
        raise DataError(f"No pair of {name} fits a model of {max_length} tokens a side: {why}.")
    if skipped:
        logger.warning("%s: left out %s", name, skipped.report())
    return kept, examples


def epoch_batches(
    examples: Sequence[Example], batch_tokens: int, join_probability: float, max_length: int, seed: int
) -> list[list[Example]]:
    """The batches of one epoch, packed by length and shuffled; the same seed gives the same batches.

    A batch holds as many examples as fit `batch_tokens` when all are padded to the longest (one, if even that is
    longer). Each example stands next to others of its length, so little is padded; within a length the order, and
    then the order of the batches, is random.
    """
    generator = random.Random(seed)
    shuffled = list(examples)
    generator.shuffle(shuffled)
    shuffled = _join_some(shuffled, join_probability, max_length, generator)
    shuffled.sort(key=lambda example: (example.length, len(example.source)))  # stable: keeps the shuffle within
    batches: list[list[Example]] = []
    for example in shuffled:
        if not batches or (len(batches[-1]) + 1) * example.length > batch_tokens:
            batches.append([])
        batches[-1].append(example)
    generator.shuffle(batches)
    return batches


def pad(rows: Sequence[Sequence[int]], pad_id: int, device: torch.device | str | None = None) -> Tensor:
    """Rows of ids, filled up with padding on the right: -> [batch, longest], int64."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[pad_id] * (longest - len(row))] for row in rows], device=device)


def collate(batch: Sequence[Example], pad_id: int) -> tuple[Tensor, Tensor, Tensor]:
    """Source, fed target and predicted target of a batch, each [batch, longest].

    The target is shifted: what is predicted at a position is fed at the next one (paper, 3.1).
    """
    source = pad([example.source for example in batch], pad_id)
    target = pad([example.target for example in batch], pad_id)
    return source, target[:, :-1], target[:, 1:]


class _NoPairError(ValueError):
    """Why a line is no pair of sentences."""


def _parse_pair(line: bytes) -> tuple[str, str]:
    try:
        sides = line.decode("utf-8").rstrip("\r\n").split("\t")
    except UnicodeDecodeError as error:
        raise _NoPairError("not in UTF-8") from error
    if len(sides) != 2:
        raise _NoPairError("without a tab" if len(sides) == 1 else "with more than one tab")
    if not all(side.strip() for side in sides):
        raise _NoPairError("with an empty side")
    return sides[0], sides[1]


def _join_some(examples: list[Example], probability: float, max_length: int, generator: random.Random) -> list[Example]:
    """Read some neighbours as one example: both sources, then both targets, each with one end of sentence."""
    if probability == 0:
        return examples
    joined: list[Example] = []
    remaining: Iterator[Example] = iter(examples)
    for first in remaining:
        second = next(remaining, None) if generator.random() < probability else None
        if second is None:
            joined.append(first)
            continue
        both = Example(
            first.source[:-1] + second.source, first.target[:-1] + second.target[1:], first.lines + second.lines
        )
        joined.extend([both] if both.length <= max_length else [first, second])
    return joined
