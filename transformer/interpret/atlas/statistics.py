"""What heads do over sentence pairs, as statistics that merge: any split of a corpus, in any order, gives the same.

All that is added up is a whole number: weights are taken in units of 2^-20, of which sums are exact, and what follows
of them, sentence by sentence, is rounded to such units again. Examples and samples are the smallest of a set by a total
order, so that those of a union are among those of its parts: the strongest by their confidence, the others by a hash of
the sentence and a seed (bottom-k sampling, Cohen and Kaplan 2007), of each bin of confidence some, so that any fifth of
the corpus, known only in the end, has its uniform sample.
"""

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import torch

from ...data.batching import Example
from ...data.measurement import UNIT
from ...model.names import AttentionKind
from ...model.transformer import Transformer
from ..head_patterns import Pattern
from .batch import Layout, Recorded, Vocabulary, layout_of
from .role_counts import count_roles

BINS = 100  # of the histograms, from 0 to 1
MEASURES = ("entropy", "maximum", "confidence", "distance", "absolute_distance", "end", "beginning", "punctuation")
NO_KEY = np.uint64(2**64 - 1)  # in place of a key that is not there
SHOWN_LENGTHS = range(4, 41)  # tokens a side of a sentence that can be an example

_VERSION = 1
_KEY_BITS = 46  # of a sentence's hash
_SCORE = 1 << 17  # a confidence in units of 2^-17, above the hash
_COARSE = 1024.0  # a product of two weights in units of 2^-10 sums exactly


@dataclass(frozen=True)
class Settings:
    """How much is kept: sentences in the sample, and of each head strongest ones, and some a bin of confidence."""

    seed: int = 0
    sample: int = 1000
    strongest: int = 6
    a_bin: int = 3


@dataclass(frozen=True, eq=False)
class KindStatistics:
    """What the heads of a kind do, [heads of all its layers, ...].

    measured: sentences in which some row has a choice, over which the sums are. sums: [heads, measures, 2], each
    MEASURES' value in UNIT, and its square. roles: [heads, 3, patterns], sentences with a label, rows, eligible rows.
    greatest, confidence: [heads, bins], sentences by their greatest weight and by confidence; shown: the same as
    `confidence` of the sentences that can be examples. products: [heads, heads], summed over all cells, the products of
    two heads' weights in 2^-20. strongest: [heads, count], uint64, score and key; sampled: [heads, bins, count], keys.
    """

    measured: int
    sums: np.ndarray
    roles: np.ndarray
    greatest: np.ndarray
    confidence: np.ndarray
    shown: np.ndarray
    products: np.ndarray
    strongest: np.ndarray
    sampled: np.ndarray

    def merge(self, other: "KindStatistics") -> "KindStatistics":
        """Return the statistics of both parts together."""
        added = ("measured", "sums", "roles", "greatest", "confidence", "shown", "products")
        sums = {name: getattr(self, name) + getattr(other, name) for name in added}
        return KindStatistics(
            **sums,
            strongest=_smallest(np.concatenate([self.strongest, other.strongest], axis=-1), self.strongest.shape[-1]),
            sampled=_smallest(np.concatenate([self.sampled, other.sampled], axis=-1), self.sampled.shape[-1]),
        )

    def keys(self) -> np.ndarray:
        """Return the keys of all sentences that are kept, each once."""
        found = np.concatenate([_key_of(self.strongest).ravel(), self.sampled.ravel()])
        return np.unique(found[found != NO_KEY])

    def strongest_of(self, head: int) -> list[int]:
        """Return the keys of a head's strongest examples, the most confident first."""
        found = self.strongest[head]
        return _key_of(found[found != NO_KEY]).tolist()

    def mean(self, measure: str) -> tuple[np.ndarray, np.ndarray]:
        """Return a measure's mean over the sentences, and its standard error: [heads] each, NaN without sentences."""
        sums = self.sums[:, MEASURES.index(measure)]
        if not self.measured:
            return np.full(len(sums), np.nan), np.full(len(sums), np.nan)
        means, squares = (np.array([int(each) / self.measured for each in column]) for column in sums.T)
        # The difference in whole numbers: of floats, it could lose all its digits.
        spread = [int(square) * self.measured - int(total) ** 2 for total, square in sums]
        deviations = np.sqrt(np.array([max(each, 0) / self.measured**2 for each in spread]))
        return means * UNIT, deviations * UNIT / np.sqrt(self.measured)


@dataclass(frozen=True, eq=False)
class Statistics:
    """What was measured of sentence pairs.

    sentences, source_tokens, target_tokens: how many; kinds: what the heads do; sample: keys of a uniform sample of the
    sentences, [count]; kept: ids of source and target of each sentence that is in the sample or an example, by
    its key; skipped: lines of the corpus that were left out, by reason.
    """

    sentences: int
    source_tokens: int
    target_tokens: int
    kinds: Mapping[AttentionKind, KindStatistics]
    sample: np.ndarray
    kept: Mapping[int, tuple[tuple[int, ...], tuple[int, ...]]]
    skipped: Counter[str] = field(default_factory=Counter)

    def merge(self, other: "Statistics") -> "Statistics":
        """Return the statistics of both parts together: associative, commutative, the same whatever the split."""
        kinds = {kind: self.kinds[kind].merge(other.kinds[kind]) for kind in self.kinds}
        sample = _smallest(np.concatenate([self.sample, other.sample]), len(self.sample))
        both = {**self.kept, **other.kept}
        return Statistics(
            sentences=self.sentences + other.sentences,
            source_tokens=self.source_tokens + other.source_tokens,
            target_tokens=self.target_tokens + other.target_tokens,
            kinds=kinds,
            sample=sample,
            kept={key: both[key] for key in _kept_keys(kinds, sample)},
            skipped=self.skipped + other.skipped,
        )

    def to_bytes(self) -> bytes:
        """Return them as packed JSON: equal statistics as equal bytes."""
        content = {
            "version": _VERSION,
            "counts": [self.sentences, self.source_tokens, self.target_tokens],
            "kinds": {kind: _lists(each) for kind, each in self.kinds.items()},
            "sample": self.sample.tolist(),
            "skipped": dict(sorted(self.skipped.items())),
            "kept": [[key, *self.kept[key]] for key in sorted(self.kept)],
        }
        return gzip.compress(json.dumps(content, separators=(",", ":")).encode(), compresslevel=3, mtime=0)

    @classmethod
    def from_bytes(cls, content: bytes) -> "Statistics":
        """Read what `to_bytes` wrote; raises ValueError, OSError, EOFError, KeyError or TypeError for anything else."""
        read = json.loads(gzip.decompress(content))
        if read["version"] != _VERSION:
            raise ValueError(f"version {read['version']}")
        kinds = {AttentionKind(kind): _arrays(each) for kind, each in read["kinds"].items()}
        kept = {key: (tuple(source), tuple(target)) for key, source, target in read["kept"]}
        sentences, source_tokens, target_tokens = read["counts"]
        return cls(
            sentences=sentences,
            source_tokens=source_tokens,
            target_tokens=target_tokens,
            kinds=kinds,
            sample=np.array(read["sample"], dtype=np.uint64),
            kept=kept,
            skipped=Counter(read["skipped"]),
        )


def nothing(model: Transformer, settings: Settings) -> Statistics:
    """Return the statistics of no sentence, which change no others that they are merged with."""

    def of_kind(heads: int) -> KindStatistics:
        counts = np.zeros((heads, BINS), dtype=np.int64)
        return KindStatistics(
            measured=0,
            sums=np.zeros((heads, len(MEASURES), 2), dtype=object),
            roles=np.zeros((heads, 3, len(Pattern)), dtype=np.int64),
            greatest=counts,
            confidence=counts,
            shown=counts,
            products=np.zeros((heads, heads), dtype=object),
            strongest=np.full((heads, settings.strongest), NO_KEY),
            sampled=np.full((heads, BINS, settings.a_bin), NO_KEY),
        )

    kinds = {kind: of_kind(len(getattr(model, kind.stack)) * model.config.num_heads) for kind in AttentionKind}
    return Statistics(0, 0, 0, kinds, np.full(settings.sample, NO_KEY), {})


def merge_all(parts: Iterable[Statistics]) -> Statistics:
    """Return the statistics of all parts together; raises TypeError without any."""
    return reduce(Statistics.merge, parts)


def statistics(recorded: Recorded, vocabulary: Vocabulary, settings: Settings) -> Statistics:
    """Return the statistics of a batch. They depend on each sentence's weights alone, not on what it stands beside."""
    keys = np.array([_hash(each, settings.seed) for each in recorded.examples], dtype=np.uint64)
    lengths = [(len(each.source), len(each.target) - 1) for each in recorded.examples]
    shown = np.array([all(length in SHOWN_LENGTHS for length in sides) for sides in lengths])
    kinds = {
        kind: _of_kind(kind, recorded.weights[kind], layout_of(kind, recorded, vocabulary), keys, shown, settings)
        for kind in AttentionKind
    }
    sample = _smallest(_filled(keys, settings.sample), settings.sample)
    ids = {
        key: (tuple(each.source), tuple(each.target))
        for key, each in zip(keys.tolist(), recorded.examples, strict=True)
    }
    return Statistics(
        sentences=len(recorded.examples),
        source_tokens=sum(source for source, _ in lengths),
        target_tokens=sum(target for _, target in lengths),
        kinds=kinds,
        sample=sample,
        kept={key: ids[key] for key in _kept_keys(kinds, sample)},
    )


def _of_kind(
    kind: AttentionKind,
    weights: np.ndarray,
    layout: Layout,
    keys: np.ndarray,
    shown: np.ndarray,
    settings: Settings,
) -> KindStatistics:
    sentences, heads = weights.shape[:2]
    own = np.where(layout.choice[:, None, :, None] & layout.cells[:, None], weights, np.float32(0))
    whole = np.rint(own * np.float32(1 / UNIT)).astype(np.float64)  # in UNIT, sums of which are exact
    values, greatest = _values(kind, own, whole, layout)
    measured = layout.choice.any(axis=-1)
    values, greatest = values[measured], greatest[measured]
    confidence = values[:, :, MEASURES.index("confidence")]
    flat = np.rint(whole * (UNIT * _COARSE)).reshape(sentences, heads, -1)
    products = _product(flat, flat.transpose(0, 2, 1)).sum(axis=0)
    several = kind == AttentionKind.CROSS and heads > 1
    of_shown = shown[measured]
    return KindStatistics(
        measured=int(measured.sum()),
        sums=_summed(values),
        roles=count_roles(kind, weights, layout, several).sum(axis=0),
        greatest=_histogram(greatest),
        confidence=_histogram(confidence),
        shown=_histogram(confidence[of_shown]),
        products=products.astype(np.int64).astype(object),
        strongest=_strongest(confidence[of_shown], keys[measured][of_shown], settings.strongest),
        sampled=_sampled(confidence[of_shown], keys[measured][of_shown], settings.a_bin),
    )


def _product(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Multiply matrices, [sentences, ...], in PyTorch: NumPy's library takes every core, whatever else computes."""
    product: np.ndarray = torch.matmul(torch.from_numpy(one), torch.from_numpy(other)).numpy()
    return product


def _summed(values: np.ndarray) -> np.ndarray:
    """Add up values and their squares, in Python's whole numbers: [sentences, ...] -> [..., 2]."""
    squares = values * values  # below 2^62: a distance below 2^11 in units of 2^-20
    high, low = ((part).sum(axis=0).astype(object) for part in (squares >> 32, squares & (2**32 - 1)))
    return np.stack([values.sum(axis=0).astype(object), high * 2**32 + low], axis=-1)


def _values(kind: AttentionKind, own: np.ndarray, whole: np.ndarray, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Return each sentence's measures, means over its rows that have a choice, and its greatest weight, in UNIT.

    [sentences, heads, measures] and [sentences, heads], int64; of a sentence without such a row anything.
    """
    sentences, heads, queries, keys = own.shape
    rows = np.maximum(layout.choice.sum(axis=-1), 1)[:, None]  # sentences 1
    maxima = whole.max(axis=-1)  # sentences heads queries
    # As `head_patterns.confidences`: a head that only rests on the end of sentence is not confident of anything.
    others = np.where(layout.end[:, None, None], 0.0, whole).max(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        surprise = np.where(own > 0, own * -np.log(own), np.float32(0))
    entropies = np.rint(surprise * np.float32(1 / UNIT)).astype(np.float64)
    signed = _distances(kind, layout)
    sorts = (layout.end & ~layout.begin, layout.begin, layout.punctuation)
    shares = (np.broadcast_to(sort[:, None], signed.shape) for sort in sorts)
    features = np.stack([signed, np.abs(signed), *shares], axis=-1).reshape(sentences, queries * keys, -1)
    totals = _product(whole.reshape(sentences, heads, -1), features)  # sentences heads features, exact
    measured = {
        "entropy": entropies.sum(axis=(2, 3)),
        "maximum": maxima.sum(axis=-1),
        "confidence": others.sum(axis=-1),
        "distance": totals[..., 0],
        "absolute_distance": totals[..., 1],
        "end": totals[..., 2],
        "beginning": totals[..., 3],
        "punctuation": totals[..., 4],
    }
    means = np.stack([np.rint(measured[name] / rows) for name in MEASURES], axis=-1)
    return means.astype(np.int64), maxima.max(axis=-1, initial=0).astype(np.int64)


def _distances(kind: AttentionKind, layout: Layout) -> np.ndarray:
    """Return how many tokens each key is behind its query, or, of cross-attention, behind the diagonal from the first
    to the last token of both: [sentences, queries, keys], in units of 2^-10.
    """
    queries, keys = layout.cells.shape[1:]
    at = np.broadcast_to(np.arange(queries, dtype=np.float64), (len(layout.cells), queries))
    if kind == AttentionKind.CROSS:
        slope = (layout.num_keys - 1) / np.maximum(layout.num_queries - 1, 1)
        at = np.rint(at * slope[:, None] * _COARSE) / _COARSE
    return np.arange(keys) - at[:, :, None]


def _histogram(values: np.ndarray) -> np.ndarray:
    """Count sentences by bins of a value in UNIT: [sentences, heads] -> [heads, bins]."""
    heads = values.shape[1]
    cells = np.arange(heads) * BINS + _bin_of(values)
    return np.bincount(cells.ravel(), minlength=heads * BINS).reshape(heads, BINS)


def _bin_of(values: np.ndarray) -> np.ndarray:
    return np.clip((values * BINS * UNIT).astype(np.int64), 0, BINS - 1)


def _strongest(confidence: np.ndarray, keys: np.ndarray, count: int) -> np.ndarray:
    """Return the sentences of the greatest confidence, the greatest first: [sentences, heads] -> [heads, count]."""
    score = np.clip(np.rint(confidence * (UNIT * _SCORE)), 0, _SCORE).astype(np.uint64)
    codes = ((np.uint64(_SCORE) - score) << np.uint64(_KEY_BITS)) | keys[:, None]
    return _smallest(_filled(codes.T, count), count)


def _sampled(confidence: np.ndarray, keys: np.ndarray, count: int) -> np.ndarray:
    """Return of each bin of confidence the smallest keys: [sentences, heads] -> [heads, bins, count]."""
    sentences, heads = confidence.shape
    sampled = np.full((heads * BINS, count), NO_KEY)
    if not sentences:
        return sampled.reshape(heads, BINS, count)
    cells = (np.arange(heads) * BINS + _bin_of(confidence)).ravel()
    order = np.lexsort((np.repeat(keys, heads), cells))
    cells, ordered = cells[order], np.repeat(keys, heads)[order]
    new = np.append(True, (cells[1:] != cells[:-1]) | (ordered[1:] != ordered[:-1]))
    cells, ordered = cells[new], ordered[new]
    first = np.searchsorted(cells, cells)  # of each one's cell
    rank = np.arange(len(cells)) - first
    sampled[cells[rank < count], rank[rank < count]] = ordered[rank < count]
    return sampled.reshape(heads, BINS, count)


def _filled(values: np.ndarray, count: int) -> np.ndarray:
    """Return values with at least `count` entries along the last axis, those too few as none."""
    missing = max(0, count - values.shape[-1])
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)], constant_values=NO_KEY)


def _smallest(values: np.ndarray, count: int) -> np.ndarray:
    """Return the smallest along the last axis, in order, each key once: [..., n] -> [..., count]."""
    values = np.sort(values, axis=-1)
    keys = _key_of(values)
    if values.ndim == 1 or values.shape[-1] > 64:  # of a sample: the values are the keys
        twice = np.concatenate([np.zeros_like(values[..., :1], dtype=bool), values[..., 1:] == values[..., :-1]], -1)
    else:
        twice = np.tril(keys[..., :, None] == keys[..., None, :], -1).any(axis=-1)
    return np.sort(np.where(twice, NO_KEY, values), axis=-1)[..., :count]


def _key_of(codes: np.ndarray) -> np.ndarray:
    return np.where(codes == NO_KEY, NO_KEY, codes & np.uint64(2**_KEY_BITS - 1))


def _hash(example: Example, seed: int) -> int:
    text = repr((seed, tuple(example.source), tuple(example.target)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> (64 - _KEY_BITS)


def _kept_keys(kinds: Mapping[AttentionKind, KindStatistics], sample: np.ndarray) -> list[int]:
    found = np.concatenate([sample[sample != NO_KEY], *(kind.keys() for kind in kinds.values())])
    return np.unique(found).tolist()


def _lists(kind: KindStatistics) -> dict[str, object]:
    return {name: value if isinstance(value, int) else value.tolist() for name, value in vars(kind).items()}


def _arrays(content: dict[str, Any]) -> KindStatistics:
    types = {"sums": object, "products": object, "strongest": np.uint64, "sampled": np.uint64}
    arrays: dict[str, Any] = {
        name: value if isinstance(value, int) else np.array(value, dtype=types.get(name, np.int64))
        for name, value in content.items()
    }
    kind = KindStatistics(**arrays)
    heads, shape = len(kind.roles), (3, len(Pattern))
    if kind.roles.shape[1:] != shape or kind.sums.shape != (heads, len(MEASURES), 2) or kind.sampled.shape[0] != heads:
        raise ValueError("its shapes cannot be")
    return kind
