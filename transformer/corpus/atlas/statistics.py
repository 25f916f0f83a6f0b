"""Statistics of heads over sentence pairs: sums, histograms, strongest examples and a uniform sample; `+` pools them.

A sentence has a key, a hash of its ids and a seed. The sample holds the sentences of the smallest keys (bottom-k
sampling, Cohen and Kaplan 2007), so that the sample of a union is in those of its parts.
"""

import gzip
import hashlib
import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch

from ...data.batching import Example, Examples
from ...data.tokenizer import TextTokenizer
from ...interpret.head_patterns import Pattern
from ...model.names import AttentionKind
from ...model.transformer import Transformer
from ..stored import Count, decode, encode
from .atlas import BINS
from .batch import Layout, Recorded, Vocabulary, layout_of, record_batch
from .role_counts import count_roles

MEASURES = ("entropy", "maximum", "confidence", "distance", "absolute_distance", "end", "beginning", "punctuation")
SHOWN_LENGTHS = range(4, 41)  # tokens per side of a sentence that can be an example

Ids = tuple[int, ...]
Ranking = tuple[tuple[float, int], ...]  # confidence and key of the strongest examples, the greatest first


@dataclass(frozen=True)
class Settings:
    """Seed of the sample, its number of sentences, and the number of strongest examples per head."""

    seed: int = 0
    sample: int = 1000
    strongest: int = 6


@dataclass(frozen=True, eq=False)
class KindStatistics:
    """Statistics of the heads of a kind, [heads of all its layers, ...].

    measured: sentences in which some row has a choice, over which the sums are. sums: [heads, measures, 2], float64, of
    the values of MEASURES and of their squares. roles: [heads, 3, patterns], sentences with a label, rows, eligible
    rows. greatest, confidence: [heads, bins], sentences by their greatest weight and by confidence. products: [heads,
    heads], the products of two heads' weights, summed over all cells. strongest: per head.
    """

    measured: Count
    sums: np.ndarray
    roles: np.ndarray
    greatest: np.ndarray
    confidence: np.ndarray
    products: np.ndarray
    strongest: tuple[Ranking, ...]

    def __post_init__(self) -> None:
        heads = len(self.roles)
        shapes = {
            "sums": (heads, len(MEASURES), 2),
            "roles": (heads, 3, len(Pattern)),
            "greatest": (heads, BINS),
            "confidence": (heads, BINS),
            "products": (heads, heads),
        }
        if any(getattr(self, name).shape != shape for name, shape in shapes.items()) or len(self.strongest) != heads:
            raise ValueError("its shapes cannot be")

    def merge(self, other: "KindStatistics", settings: Settings) -> "KindStatistics":
        """Return the statistics of both parts together."""
        added = ("measured", "sums", "roles", "greatest", "confidence", "products")
        sums = {name: getattr(self, name) + getattr(other, name) for name in added}
        rankings = zip(self.strongest, other.strongest, strict=True)
        strongest = tuple(_strongest((*one, *two), settings.strongest) for one, two in rankings)
        return KindStatistics(**sums, strongest=strongest)

    def mean(self, measure: str) -> tuple[np.ndarray, np.ndarray]:
        """Return a measure's mean over the sentences, and its standard error: [heads] each, NaN without sentences."""
        totals, squares = self.sums[:, MEASURES.index(measure)].T
        if not self.measured:
            return np.full(len(totals), np.nan), np.full(len(totals), np.nan)
        means = totals / self.measured
        variances = np.maximum(squares / self.measured - means**2, 0)
        return means, np.sqrt(variances / self.measured)


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of sentence pairs.

    sample: keys of a uniform sample of the sentences, with the confidence of all heads of each kind, [heads];
    ids: those of source and target of each sentence that is in the sample or an example, by its key.
    """

    settings: Settings
    sentences: Count
    source_tokens: Count
    target_tokens: Count
    kinds: Mapping[AttentionKind, KindStatistics]
    sample: Mapping[int, Mapping[AttentionKind, np.ndarray]]
    ids: Mapping[int, tuple[Ids, Ids]]

    def __add__(self, other: "Statistics") -> "Statistics":
        """Return the statistics of both parts together."""
        kinds = {kind: each.merge(other.kinds[kind], self.settings) for kind, each in self.kinds.items()}
        sampled = {**self.sample, **other.sample}
        sample = {key: sampled[key] for key in heapq.nsmallest(self.settings.sample, sampled)}
        ids = {**self.ids, **other.ids}
        return Statistics(
            settings=self.settings,
            sentences=self.sentences + other.sentences,
            source_tokens=self.source_tokens + other.source_tokens,
            target_tokens=self.target_tokens + other.target_tokens,
            kinds=kinds,
            sample=sample,
            ids={key: ids[key] for key in _keys_with_ids(kinds, sample)},
        )

    def to_bytes(self) -> bytes:
        """Return the statistics as packed JSON."""
        sample = {
            key: {kind: np.round(each, 6) for kind, each in by_kind.items()} for key, by_kind in self.sample.items()
        }
        return gzip.compress(encode(replace(self, sample=sample)), mtime=0)

    @classmethod
    def from_bytes(cls, content: bytes) -> "Statistics":
        """Read the result of `to_bytes`; raises ValueError, OSError, EOFError or RecursionError otherwise."""
        return decode(gzip.decompress(content), cls)


def measure_heads_of(
    model: Transformer, tokenizer: TextTokenizer, examples: Examples, settings: Settings
) -> Statistics:
    """Return the statistics of a batch of sentence pairs, teacher-forced."""
    return statistics(record_batch(model, examples), Vocabulary.of(tokenizer), settings)


def statistics(recorded: Recorded, vocabulary: Vocabulary, settings: Settings) -> Statistics:
    """Return the statistics of a recorded batch."""
    keys = [_key(each, settings.seed) for each in recorded.examples]
    shown = np.array([is_shown(each.source, each.target) for each in recorded.examples])
    kinds, confidences = {}, {}
    for kind, weights in recorded.weights.items():
        layout = layout_of(kind, recorded, vocabulary)
        kinds[kind], confidences[kind] = _of_kind(kind, weights, layout, keys, shown, settings)
    ids = {key: (tuple(each.source), tuple(each.target)) for key, each in zip(keys, recorded.examples, strict=True)}
    row_of = {key: row for row, key in enumerate(keys)}
    sample = {
        key: {kind: each[row_of[key]] for kind, each in confidences.items()}
        for key in heapq.nsmallest(settings.sample, row_of)
    }
    return Statistics(
        settings=settings,
        sentences=len(keys),
        source_tokens=sum(len(each.source) for each in recorded.examples),
        target_tokens=sum(len(each.target) - 1 for each in recorded.examples),
        kinds=kinds,
        sample=sample,
        ids={key: ids[key] for key in _keys_with_ids(kinds, sample)},
    )


def is_shown(source: Ids, target: Ids) -> bool:
    """Return True for a sentence that can be an example; target: ids with begin of sentence."""
    return len(source) in SHOWN_LENGTHS and len(target) - 1 in SHOWN_LENGTHS


def _of_kind(
    kind: AttentionKind, weights: np.ndarray, layout: Layout, keys: list[int], shown: np.ndarray, settings: Settings
) -> tuple[KindStatistics, np.ndarray]:
    """Return the statistics of a kind, and the confidence of its heads: [sentences, heads]."""
    sentences, heads = weights.shape[:2]
    weights_with_choice = np.where(layout.choice[:, None, :, None] & layout.cells[:, None], weights, np.float32(0))
    values, greatest = _values(kind, weights_with_choice, layout)
    confidence = values[:, :, MEASURES.index("confidence")]
    measured = layout.choice.any(axis=-1)
    flat = weights_with_choice.reshape(sentences, heads, -1)
    several = kind == AttentionKind.CROSS and heads > 1
    of_kind = KindStatistics(
        measured=int(measured.sum()),
        sums=np.stack([values[measured].sum(axis=0), (values[measured] ** 2).sum(axis=0)], axis=-1),
        roles=count_roles(kind, weights, layout, several).sum(axis=0),
        greatest=_histogram(greatest[measured]),
        confidence=_histogram(confidence[measured]),
        products=_product(flat, flat.transpose(0, 2, 1)).sum(axis=0, dtype=np.float64),
        strongest=tuple(_ranked(confidence[shown], [keys[row] for row in np.flatnonzero(shown)], settings.strongest)),
    )
    return of_kind, confidence


def _product(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Multiply matrices, [sentences, ...], in PyTorch: NumPy's library would take every core."""
    product: np.ndarray = torch.matmul(torch.from_numpy(one), torch.from_numpy(other)).numpy()
    return product


def _values(kind: AttentionKind, weights: np.ndarray, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Return each sentence's MEASURES, means over its rows that have a choice, and its greatest weight.

    [sentences, heads, measures] and [sentences, heads], float64; 0 of a sentence without such a row.
    """
    sentences, heads, queries, keys = weights.shape
    rows = np.maximum(layout.choice.sum(axis=-1), 1)[:, None]  # sentences 1
    maxima = weights.max(axis=-1)  # sentences heads queries
    # As `head_patterns.confidences`: a head that only rests on the end of sentence is not confident of anything.
    others = np.where(layout.end[:, None, None], np.float32(0), weights).max(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        surprise = np.where(weights > 0, weights * -np.log(weights), np.float32(0))
    signed = _distances(kind, layout)
    sorts = (layout.end & ~layout.begin, layout.begin, layout.punctuation)
    shares = (np.broadcast_to(sort[:, None], signed.shape) for sort in sorts)
    features = np.stack([signed, np.abs(signed), *shares], axis=-1, dtype=np.float32)
    totals = _product(weights.reshape(sentences, heads, -1), features.reshape(sentences, queries * keys, -1))
    measured = {
        "entropy": surprise.sum(axis=(2, 3), dtype=np.float64),
        "maximum": maxima.sum(axis=-1, dtype=np.float64),
        "confidence": others.sum(axis=-1, dtype=np.float64),
        "distance": totals[..., 0],
        "absolute_distance": totals[..., 1],
        "end": totals[..., 2],
        "beginning": totals[..., 3],
        "punctuation": totals[..., 4],
    }
    means = np.stack([measured[name] / rows for name in MEASURES], axis=-1)
    return means, maxima.max(axis=-1, initial=0)


def _distances(kind: AttentionKind, layout: Layout) -> np.ndarray:
    """Return the tokens from each query to each key, or, of cross-attention, from the diagonal that joins the first and
    the last tokens of both: [sentences, queries, keys].
    """
    queries, keys = layout.cells.shape[1:]
    at = np.broadcast_to(np.arange(queries, dtype=np.float64), (len(layout.cells), queries))
    if kind == AttentionKind.CROSS:
        slope = (layout.num_keys - 1) / np.maximum(layout.num_queries - 1, 1)
        at = at * slope[:, None]
    return np.arange(keys) - at[:, :, None]


def _histogram(values: np.ndarray) -> np.ndarray:
    """Count sentences by bins of a value from 0 to 1: [sentences, heads] -> [heads, bins]."""
    heads = values.shape[1]
    cells = np.arange(heads) * BINS + np.clip((values * BINS).astype(np.int64), 0, BINS - 1)
    return np.bincount(cells.ravel(), minlength=heads * BINS).reshape(heads, BINS)


def _ranked(confidence: np.ndarray, keys: list[int], count: int) -> Iterator[Ranking]:
    """Yield each head's ranking; confidence: [sentences, heads]."""
    for column in confidence.T.tolist():
        yield _strongest(zip(column, keys, strict=True), count)


def _strongest(ranked: Iterable[tuple[float, int]], count: int) -> Ranking:
    """Return the sentences of the greatest confidence, each once, the greatest first."""
    confidence_of = {key: confidence for confidence, key in sorted(ranked)}
    return tuple(heapq.nlargest(count, ((confidence, key) for key, confidence in confidence_of.items())))


def _key(example: Example, seed: int) -> int:
    text = repr((seed, tuple(example.source), tuple(example.target)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


def _keys_with_ids(kinds: Mapping[AttentionKind, KindStatistics], sample: Iterable[int]) -> list[int]:
    return sorted({*sample, *(key for kind in kinds.values() for ranking in kind.strongest for _, key in ranking)})
