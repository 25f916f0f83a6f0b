"""Sentence pairs: reading them, turning them into ids, and packing them into batches of similar length."""

import gzip
import logging
import random
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from .errors import DataError
from .tokenizer import Tokenizer

logger = logging.getLogger(__name__)

_SHOWN_LINES = 5  # line numbers named in a report of skipped lines


@dataclass(frozen=True)
class Example:
    """One pair as ids: `source` ends with end of sentence, `target` begins and ends with its special tokens."""

    source: tuple[int, ...]
    target: tuple[int, ...]

    @property
    def length(self) -> int:
        """Tokens of the longer side, as the model sees it (the target is fed without its last token)."""
        return max(len(self.source), len(self.target) - 1)


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Read a TSV file (gzip by its name): source, tab, target, a line each, UTF-8.

    Lines without exactly one tab, with an empty side, or not in UTF-8 are skipped and reported with their numbers.
    Raises DataError when the file cannot be read or nothing usable is in it.
    """
    pairs, skipped = [], []
    opener = gzip.open if str(path).endswith(".gz") else open
    try:
        with opener(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                pair = _parse_pair(line)
                if pair is None:
                    skipped.append(number)
                else:
                    pairs.append(pair)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"The corpus {path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    if skipped:
        shown = ", ".join(map(str, skipped[:_SHOWN_LINES])) + (", …" if len(skipped) > _SHOWN_LINES else "")
        logger.warning("%s: skipped %d lines that are no pair of sentences (lines %s)", path, len(skipped), shown)
    if not pairs:
        raise DataError(f"The corpus {path} holds no usable pair: each line must be source, tab, target in UTF-8.")
    return pairs


def make_examples(pairs: Sequence[tuple[str, str]], tokenizer: Tokenizer, max_length: int) -> list[Example]:
    """Turn pairs into ids; those longer than `max_length` tokens on a side are left out and counted in the log."""
    sources = tokenizer.encode_all([source for source, _ in pairs])
    targets = tokenizer.encode_all([target for _, target in pairs])
    examples = [
        Example((*source, tokenizer.end_id), (tokenizer.begin_id, *target, tokenizer.end_id))
        for source, target in zip(sources, targets, strict=True)
    ]
    kept = [example for example in examples if example.length <= max_length]
    if len(kept) < len(examples):
        logger.warning("left out %d pairs longer than %d tokens", len(examples) - len(kept), max_length)
    if not kept:
        raise DataError(f"No pair of the corpus is short enough for {max_length} tokens a side.")
    return kept


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


def _parse_pair(line: bytes) -> tuple[str, str] | None:
    try:
        sides = line.decode("utf-8").rstrip("\r\n").split("\t")
    except UnicodeDecodeError:
        return None
    if len(sides) != 2 or not all(side.strip() for side in sides):
        return None
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
        both = Example(first.source[:-1] + second.source, first.target[:-1] + second.target[1:])
        joined.extend([both] if both.length <= max_length else [first, second])
    return joined
