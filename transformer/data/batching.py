"""Pairs as examples, bucketed by length into padded batches."""

import logging
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..arrays import to_array
from ..errors import DataError
from ..model.attention import causal_mask, input_mask, padding_mask, target_mask
from .pairs import Pairs, SkippedLines, TextPairs, read_pairs
from .tokenizer import TextTokenizer

logger = logging.getLogger(__name__)

SAMPLES = "samples.tsv"
Ids = Sequence[int]  # the token ids of one sentence
MOST_SAMPLES = 1000  # pairs read of a checkpoint's sample


@dataclass(frozen=True)
class Example:
    """One pair as ids: `source` ends with end of sentence, `target` begins and ends with its special tokens.

    `lines` are those of the corpus that it comes from, as far as they are known, and `files` the name of each one's
    file where the corpus has several.
    """

    source: tuple[int, ...]
    target: tuple[int, ...]
    lines: tuple[int, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        """Tokens of the longer side, as the model sees it (the target is fed without its last token)."""
        return max(len(self.source), len(self.target) - 1)

    @property
    def places(self) -> tuple[tuple[str, int], ...]:
        """Its lines, each with the name of its file, which is empty where the corpus has but one."""
        return tuple(zip(self.files or ("",) * len(self.lines), self.lines, strict=True))


Examples = Sequence[Example]


def make_examples(pairs: TextPairs, tokenizer: TextTokenizer, max_length: int) -> list[Example]:
    """Turn pairs into ids; those without or with too many tokens on a side are left out and reported in the log."""
    return fitting(pairs, tokenizer, max_length)[1]


def fitting(pairs: TextPairs, tokenizer: TextTokenizer, max_length: int) -> tuple[list[tuple[str, str]], list[Example]]:
    """Return the pairs that a model of `max_length` positions can be taught, and the same as ids.

    The others are reported in the log by reason, with their lines where `pairs` knows them. Raises DataError when
    nothing is left.
    """
    lines: Sequence[int | None] = pairs.lines if isinstance(pairs, Pairs) else [None] * len(pairs)
    name = pairs.name if isinstance(pairs, Pairs) else "the corpus"
    usable, examples, skipped = [], [], SkippedLines()
    for pair, line, (example, reason) in zip(pairs, lines, encode_pairs(pairs, tokenizer, max_length), strict=True):
        if reason:
            skipped.add(reason, line)
        else:
            usable.append(pair)
            examples.append(example if line is None else replace(example, lines=(line,)))
    if not examples:
        why = skipped.report() or "there is none"
        raise DataError(f"No pair of {name} fits a model of {max_length} tokens a side: {why}.")
    if skipped:
        logger.warning("%s: left out %s", name, skipped.report())
    return usable, examples


def encode_pairs(pairs: TextPairs, tokenizer: TextTokenizer, max_length: int) -> Iterator[tuple[Example, str]]:
    """Turn pairs into ids, each with the reason why a model of `max_length` positions cannot be taught it, or ""."""
    sources = tokenizer.encode_all([source for source, _ in pairs])
    targets = tokenizer.encode_all([target for _, target in pairs], target=True)
    for (text, _), source, target in zip(pairs, sources, targets, strict=True):
        before, after = tokenizer.frame(text)
        example = Example(
            source=(*before, *source, *after),
            target=(tokenizer.begin_id, *tokenizer.forced_ids(text), *target, tokenizer.end_id),
        )
        if not source or not target:
            yield example, "with a side that has no token"
        elif example.length > max_length:
            yield example, f"longer than {max_length} tokens a side"
        else:
            yield example, ""


def read_samples(folder: Path, tokenizer: TextTokenizer, max_length: int) -> list[Example]:
    """Return the sentence pairs that a checkpoint's folder brings along, as ids.

    Raises DataError where it has none: no file of its own kind, which a device or a pipe is not.
    """
    path = Path(folder) / SAMPLES
    if not path.is_file():
        raise DataError(
            f"The checkpoint {path.parent.name} brings no sentence pairs along ({SAMPLES}), so there is nothing to "
            "batch: choose another checkpoint."
        )
    return make_examples(read_pairs(path)[:MOST_SAMPLES], tokenizer, max_length)


def epoch_batches(
    examples: Examples, batch_tokens: int, join_probability: float, max_length: int, seed: int
) -> list[list[Example]]:
    """Return the batches of one epoch, bucketed by length and shuffled; the same seed gives the same batches.

    A batch holds as many examples as fit `batch_tokens` when all are padded to the longest (one, if even that is
    longer). Each example stands next to others of its length, so little is padded; within a length the order, and
    then the order of the batches, is random.
    """
    generator = random.Random(seed)
    shuffled = list(examples)
    generator.shuffle(shuffled)
    shuffled = _join_some(shuffled, join_probability, max_length, generator)
    shuffled.sort(key=lambda example: (example.length, len(example.source)))  # stable: keeps the shuffle within
    batches = fill_batches(shuffled, batch_tokens)
    generator.shuffle(batches)
    return batches


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
        source, target = first.source[:-1] + second.source, first.target[:-1] + second.target[1:]
        both = Example(source, target, first.lines + second.lines, first.files + second.files)
        joined.extend([both] if both.length <= max_length else [first, second])
    return joined


def fill_batches(examples: Examples, batch_tokens: int) -> list[list[Example]]:
    """Batches of neighbours, each closed where one more would exceed `batch_tokens`, padding included."""
    batches: list[list[Example]] = []
    longest = 0
    for example in examples:
        longest = max(longest, example.length)
        if not batches or (len(batches[-1]) + 1) * longest > batch_tokens:
            batches.append([])
            longest = example.length
        batches[-1].append(example)
    return batches


def pad(rows: Sequence[Ids], pad_id: int, device: torch.device | str | None = None) -> Tensor:
    """Rows of ids, filled up with padding on the right: -> [batch, longest], int64."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[pad_id] * (longest - len(row))] for row in rows], device=device)


def collate(batch: Examples, pad_id: int) -> tuple[Tensor, Tensor, Tensor]:
    """Source, decoder input and decoder target, the input shifted by one (paper, 3.1): each [batch, longest]."""
    source = pad([example.source for example in batch], pad_id)
    target = pad([example.target for example in batch], pad_id)
    return source, target[:, :-1], target[:, 1:]


@dataclass(frozen=True, eq=False)
class BatchView:
    """A batch as training hands it to the model, with the texts of its tokens. Arrays are read-only.

    The tokens of each sentence are as long as the batch is wide, padding included; of each, the first
    `source_lengths[sentence]` and `target_lengths[sentence]` (of `target_tokens`, what the fed ones predict) are real.
    Where the batch is wider than a sentence, its end of sentence is fed as well, and predicts padding.
    Masks, True = may be read: source_mask [batch, 1, 1, source], target_padding_mask [batch, 1, 1, target],
    causal_mask [target, target], target_mask [batch, 1, target, target].
    """

    source_tokens: tuple[tuple[str, ...], ...]
    decoder_input_tokens: tuple[tuple[str, ...], ...]
    target_tokens: tuple[tuple[str, ...], ...]
    source_lengths: tuple[int, ...]
    target_lengths: tuple[int, ...]
    source_mask: np.ndarray
    target_padding_mask: np.ndarray
    causal_mask: np.ndarray
    target_mask: np.ndarray


def view_batch(
    source: Tensor, fed: Tensor, following: Tensor, lengths: Sequence[tuple[int, int]], tokenizer: TextTokenizer
) -> BatchView:
    """Return tokens and masks of a batch: ids [batch, source] and twice [batch, target], lengths of both sides."""
    source_lengths, target_lengths = zip(*lengths, strict=True)
    return BatchView(
        source_tokens=piece_texts(source.tolist(), tokenizer.source_piece_text),
        decoder_input_tokens=piece_texts(fed.tolist(), tokenizer.piece_text),
        target_tokens=piece_texts(following.tolist(), tokenizer.piece_text),
        source_lengths=source_lengths,
        target_lengths=target_lengths,
        source_mask=to_array(padding_mask(source, tokenizer.pad_id)),
        target_padding_mask=to_array(input_mask(fed, tokenizer.pad_id)),
        causal_mask=to_array(causal_mask(fed.shape[1])),
        target_mask=to_array(target_mask(fed, tokenizer.pad_id)),
    )


def piece_texts(rows: Sequence[Ids], piece_text: Callable[[int], str]) -> tuple[tuple[str, ...], ...]:
    """Return the text of each token of each row, by the tokenizer's `piece_text` or `source_piece_text`."""
    return tuple(tuple(map(piece_text, row)) for row in rows)


def batches_by_length(sources: Sequence[Ids], size: int) -> Iterator[list[int]]:
    """Return the indices of texts of like length together, shortest first."""
    order = sorted(range(len(sources)), key=lambda index: len(sources[index]))
    for start in range(0, len(order), size):
        yield order[start : start + size]
