"""What padding costs: batches packed by length, as training packs them, beside batches in random order."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import Tensor

from .data import Example, collate, make_examples, read_pairs
from .errors import DataError
from .masks import causal_mask, padding_mask, target_mask
from .tokenizer import Tokenizer
from .trace import read_only

SAMPLES = "samples.tsv"
MOST_SAMPLES = 1000  # pairs read of a checkpoint's sample


@dataclass(frozen=True)
class Fill:
    """Cells that a batch, or several, take on both sides, source and predicted target: tokens and padding."""

    tokens: int
    padding: int

    @property
    def cells(self) -> int:
        """All of them: what the model computes."""
        return self.tokens + self.padding

    @property
    def share(self) -> float:
        """The share of padding, from 0 to 1."""
        return self.padding / self.cells


@dataclass(frozen=True, eq=False)
class OpenedBatch:
    """A batch as training hands it to the model, in words. Arrays are read-only.

    The tokens of each sentence are as long as the batch is wide, padding included; of each, the first
    `source_lengths[sentence]` and `target_lengths[sentence]` (of `next_tokens`, what the fed ones predict) are real.
    Where the batch is wider than a sentence, its end of sentence is fed as well, and predicts padding.
    Masks, True = may be read: source_mask [batch, 1, 1, source], padding_mask (of the target) [batch, 1, 1, target],
    causal_mask [target, target], target_mask [batch, 1, target, target].
    """

    source_tokens: tuple[tuple[str, ...], ...]
    fed_tokens: tuple[tuple[str, ...], ...]
    next_tokens: tuple[tuple[str, ...], ...]
    source_lengths: tuple[int, ...]
    target_lengths: tuple[int, ...]
    source_mask: np.ndarray
    padding_mask: np.ndarray
    causal_mask: np.ndarray
    target_mask: np.ndarray


def read_samples(folder: Path, tokenizer: Tokenizer, max_length: int) -> list[Example]:
    """The sentence pairs that a checkpoint's folder brings along, as ids; raises DataError where it has none."""
    path = Path(folder) / SAMPLES
    if not path.is_file():
        raise DataError(
            f"The checkpoint {path.parent.name} brings no sentence pairs along ({SAMPLES}), so there is nothing to "
            "pack: choose another checkpoint."
        )
    return make_examples(read_pairs(path)[:MOST_SAMPLES], tokenizer, max_length)


def random_batches(examples: Sequence[Example], batch_tokens: int, seed: int) -> list[list[Example]]:
    """The batches of one epoch in random order, filled by the very rule of `data.epoch_batches`, but for the sorting.

    A batch holds as many examples as fit `batch_tokens` when all are padded to the longest (one, if even that is
    longer).
    """
    shuffled = list(examples)
    random.Random(seed).shuffle(shuffled)
    batches: list[list[Example]] = []
    longest = 0
    for example in shuffled:
        longest = max(longest, example.length)
        if not batches or (len(batches[-1]) + 1) * longest > batch_tokens:
            batches.append([])
            longest = example.length
        batches[-1].append(example)
    return batches


def fill(*batches: Sequence[Example]) -> Fill:
    """The cells of these batches, each padded on both sides to the longest it holds."""
    tokens = cells = 0
    for batch in batches:
        for lengths in ([len(e.source) for e in batch], [len(e.target) - 1 for e in batch]):
            tokens += sum(lengths)
            cells += len(lengths) * max(lengths)
    return Fill(tokens, cells - tokens)


def open_batch(batch: Sequence[Example], tokenizer: Tokenizer) -> OpenedBatch:
    """Make of a batch what training makes of it, and look inside."""
    pad_id = tokenizer.pad_id
    source, fed, following = collate(batch, pad_id)
    return OpenedBatch(
        source_tokens=_texts(source, tokenizer),
        fed_tokens=_texts(fed, tokenizer),
        next_tokens=_texts(following, tokenizer),
        source_lengths=tuple(len(example.source) for example in batch),
        target_lengths=tuple(len(example.target) - 1 for example in batch),
        source_mask=_frozen(padding_mask(source, pad_id)),
        padding_mask=_frozen(padding_mask(fed, pad_id)),
        causal_mask=_frozen(causal_mask(fed.shape[1])),
        target_mask=_frozen(target_mask(fed, pad_id)),
    )


def _texts(ids: Tensor, tokenizer: Tokenizer) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(map(tokenizer.piece_text, row)) for row in ids.tolist())


def _frozen(tensor: Tensor) -> np.ndarray:
    return read_only(tensor.numpy())
