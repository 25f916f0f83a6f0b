"""Attention on keys without content, which many heads rest on, and maps of the other keys alone.

Much weight goes to the end of sentence, to language tags and to punctuation, and says little about words.
`Trace.special_share` and `Trace.content_only` measure a trace.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import read_only
from ..data.frames import cell_columns, frame_of
from ..model.names import AttentionKind
from .head_patterns import is_begin, is_end, is_punctuation

if TYPE_CHECKING:
    import pandas

_LANGUAGE = re.compile(r">>.*<<|__\w+__|[a-z]{2,3}_[A-Z][A-Za-z]{1,3}")  # of Marian and M2M-100, of NLLB and mBART


def is_language(token: str) -> bool:
    """Return True for a language tag: ">>deu<<", "__de__", "deu_Latn", "de_DE"."""
    return _LANGUAGE.fullmatch(token) is not None


MOST_WITHOUT_CONTENT = 0.6  # share of cross-attention; above it, the explorer and the import state the share
SORTS: Mapping[str, Callable[[str], bool]] = {
    "end": is_end,
    "begin": is_begin,
    "language": is_language,
    "punctuation": is_punctuation,
}


def has_content(keys: Sequence[str]) -> np.ndarray:
    """Return True for each key that is of none of `SORTS`: [keys]."""
    return np.array([not any(is_of(key) for is_of in SORTS.values()) for key in keys])


@dataclass(frozen=True, eq=False)
class SpecialShare:
    """Share of each head's weight on the keys of each of `SORTS`, averaged over queries.

    by_kind: [layers, heads, sorts] each, float64, read-only.
    """

    by_kind: Mapping[AttentionKind, np.ndarray]

    def total(self, kind: AttentionKind | str) -> np.ndarray:
        """Sum the sorts: [layers, heads]."""
        return np.asarray(self.by_kind[AttentionKind(kind)].sum(axis=-1))

    def mean(self, kind: AttentionKind | str) -> float:
        """Average the sum of the sorts over all heads of a kind."""
        return float(self.total(kind).mean())

    def to_frame(self) -> "pandas.DataFrame":
        """List a row per head and sort: kind, layer, head, sort, share. Layers and heads count from 0."""
        shares = self.by_kind.items()
        columns = {str(kind): cell_columns(["layer", "head", "sort"], share=share) for kind, share in shares}
        return frame_of("kind", columns, {"sort": list(SORTS)})


@dataclass(frozen=True, eq=False)
class ContentMaps:
    """Maps of the keys with content alone, each row divided by its sum, and the share that was removed.

    By kind, float64 and read-only. weights: [layers, heads, queries, keys], 0 for the other keys, and in rows whose
    whole weight was removed; removed: [layers, heads, queries].
    """

    weights: Mapping[AttentionKind, np.ndarray]
    removed: Mapping[AttentionKind, np.ndarray]

    def to_frame(self) -> "pandas.DataFrame":
        """List a row per query: kind, layer, head, query, removed, and its largest key with its weight, all from 0."""
        columns = {
            str(kind): cell_columns(
                ["layer", "head", "query"],
                removed=self.removed[kind],
                largest_key=maps.argmax(axis=-1),
                weight=maps.max(axis=-1),
            )
            for kind, maps in self.weights.items()
        }
        return frame_of("kind", columns)


def special_share(maps: Mapping[AttentionKind, tuple[np.ndarray, Sequence[str]]]) -> SpecialShare:
    """Measure maps, [layers, heads, queries, keys], with the tokens of their keys."""
    shares = {}
    for kind, (weights, keys) in maps.items():
        is_of = np.array([[each(key) for each in SORTS.values()] for key in keys], dtype=np.float64)  # keys sorts
        shares[kind] = read_only(weights.mean(axis=2, dtype=np.float64) @ is_of)
    return SpecialShare(shares)


def content_only(maps: Mapping[AttentionKind, tuple[np.ndarray, Sequence[str]]]) -> ContentMaps:
    """Remove the keys without content from maps, [layers, heads, queries, keys], with the tokens of their keys."""
    weights, removed = {}, {}
    for kind, (whole, keys) in maps.items():
        remaining = whole.astype(np.float64) * has_content(keys)
        sums = remaining.sum(axis=-1, keepdims=True)
        weights[kind] = read_only(np.divide(remaining, sums, out=np.zeros_like(remaining), where=sums > 0))
        removed[kind] = read_only(1 - sums[..., 0] / whole.sum(axis=-1, dtype=np.float64))
    return ContentMaps(weights, removed)
