"""Attention weights of a batch of sentence pairs, and the sorts of its tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from ...arrays import to_array
from ...data.batching import Examples, Ids
from ...data.tokenizer import TextTokenizer
from ...interpret.activations import ATTENTION, Activations, Request, record
from ...interpret.head_patterns import is_begin, is_end, is_punctuation, is_word
from ...model.names import AttentionKind
from ...model.transformer import Transformer

_WITHOUT_LOGITS = Request(keep=ATTENTION, logits_to_keep=1)


@dataclass(frozen=True, eq=False)
class Sorts:
    """Sorts of the tokens of a vocabulary, each bool, [vocabulary]."""

    end: np.ndarray
    begin: np.ndarray
    punctuation: np.ndarray
    word: np.ndarray

    @classmethod
    def of(cls, size: int, text: Callable[[int], str]) -> "Sorts":
        """Sort all ids of a vocabulary by their tokens' texts, as `head_patterns` does."""
        tokens = [text(token_id) for token_id in range(size)]
        return cls(
            end=np.array([is_end(token) for token in tokens]),
            begin=np.array([is_begin(token) for token in tokens]),
            punctuation=np.array([is_punctuation(token) for token in tokens]),
            word=np.array([is_word(token) for token in tokens]),
        )


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Sorts of a model's tokens, on both sides."""

    source: Sorts
    target: Sorts

    @classmethod
    def of(cls, tokenizer: TextTokenizer) -> "Vocabulary":
        """Sort a tokenizer's tokens, once for all batches of a corpus."""
        return _vocabulary_of(tokenizer)  # type: ignore[arg-type] # mypy takes no protocol for hashable


@lru_cache(maxsize=1)
def _vocabulary_of(tokenizer: TextTokenizer) -> Vocabulary:
    source = Sorts.of(len(tokenizer), tokenizer.source_piece_text)
    return Vocabulary(source, Sorts.of(tokenizer.target_size, tokenizer.piece_text))


@dataclass(frozen=True, eq=False)
class Recorded:
    """Attention weights of a pass over sentence pairs.

    weights: by kind [sentences, heads of all its layers, queries, keys], float32, layer after layer; cells beyond
    a sentence's own rows and columns are padding, of any value.
    """

    examples: Examples
    weights: dict[AttentionKind, np.ndarray]

    def sides(self, kind: AttentionKind) -> tuple[list[Ids], list[Ids]]:
        """Return the ids of each sentence's rows, and of its columns."""
        sources: list[Ids] = [each.source for each in self.examples]
        fed: list[Ids] = [each.target[:-1] for each in self.examples]
        if kind == AttentionKind.ENCODER:
            return sources, sources
        return fed, fed if kind == AttentionKind.DECODER else sources


def record_batch(model: Transformer, batch: Examples) -> Recorded:
    """Run one teacher-forced pass over sentence pairs and return all attention weights; raises as `record`."""
    seen = record(model, [each.source for each in batch], [each.target[:-1] for each in batch], _WITHOUT_LOGITS)
    return Recorded(batch, {kind: weights_by_sentence(seen, kind) for kind in AttentionKind})


@torch.inference_mode()
def weights_by_sentence(seen: Activations, kind: AttentionKind) -> np.ndarray:
    """Return a kind's weights, [sentences, heads of all layers, queries, keys]."""
    weights = seen.weights(kind)  # layers sentences heads queries keys
    return to_array(weights.transpose(0, 1).flatten(1, 2))


@dataclass(frozen=True, eq=False)
class Layout:
    """Cells of a kind's maps that belong to a sentence, and the sorts of its tokens.

    rows: [sentences, queries], choice: rows with more than one key to read; cells: True = may attend, [sentences,
    queries, keys]; end, begin, punctuation, word_keys: of the keys, [sentences, keys]; word_outputs: of the tokens that
    rows predict, [sentences, queries]; num_queries, num_keys: rows and columns, [sentences] each.
    """

    rows: np.ndarray
    choice: np.ndarray
    cells: np.ndarray
    end: np.ndarray
    begin: np.ndarray
    punctuation: np.ndarray
    word_keys: np.ndarray
    word_outputs: np.ndarray
    num_queries: np.ndarray
    num_keys: np.ndarray


def layout_of(kind: AttentionKind, recorded: Recorded, vocabulary: Vocabulary) -> Layout:
    """Lay out the maps of a kind."""
    _, _, queries, keys = recorded.weights[kind].shape
    row_ids, column_ids = recorded.sides(kind)
    num_queries, num_keys = (np.array(list(map(len, ids))) for ids in (row_ids, column_ids))
    rows, columns = np.arange(queries) < num_queries[:, None], np.arange(keys) < num_keys[:, None]
    cells = rows[:, :, None] & columns[:, None, :]
    if kind == AttentionKind.DECODER:
        cells &= np.tri(queries, keys, dtype=bool)
    sorts = vocabulary.target if kind == AttentionKind.DECODER else vocabulary.source
    padded = padded_ids(column_ids, keys)
    is_end = sorts.end[padded] & columns
    begin = sorts.begin[padded] & columns
    if kind == AttentionKind.DECODER:
        begin[:, 0] |= is_end[:, 0]  # BART's decoder begins with the end's token
    outputs = padded_ids([each.target[1:] for each in recorded.examples], queries)
    word_outputs = vocabulary.target.word[outputs] & rows if kind != AttentionKind.ENCODER else np.zeros_like(rows)
    return Layout(
        rows=rows,
        choice=cells.sum(axis=-1) > 1,
        cells=cells,
        end=is_end,
        begin=begin,
        punctuation=sorts.punctuation[padded] & columns,
        word_keys=sorts.word[padded] & columns,
        word_outputs=word_outputs,
        num_queries=num_queries,
        num_keys=num_keys,
    )


def padded_ids(rows: Sequence[Ids], width: int) -> np.ndarray:
    """Return rows of ids as [rows, width], filled up with 0."""
    padded = np.zeros((len(rows), width), dtype=np.int64)
    for number, ids in enumerate(rows):
        padded[number, : min(len(ids), width)] = ids[:width]
    return padded
