"""The patterns and labels of `head_patterns` for a whole batch at once."""

import numpy as np

from ...interpret.head_patterns import Pattern, align, count_patterns, labels, sorts_of
from ...model.names import AttentionKind
from .batch import Layout


def count_roles(kind: AttentionKind, weights: np.ndarray, layout: Layout, several: bool) -> np.ndarray:
    """Count labels, rows and eligible rows of each head in each sentence: [sentences, heads, 3, patterns], int64.

    weights: [sentences, heads, queries, keys]; `several`: True for a model with several heads of the kind, on whose
    agreement alignments are based.
    """
    sorts = sorts_of(kind, layout.end, layout.begin, layout.punctuation)
    of_heads = {pattern: sort[:, None] for pattern, sort in sorts.items()}
    aligned = None
    if kind == AttentionKind.CROSS and several:
        aligned = align(weights.mean(axis=1), layout.word_keys, layout.word_outputs)[:, None]
    counts, tied = count_patterns(kind, weights, layout.cells[:, None], of_heads, aligned)
    labelled = labels(counts, tied)
    packed = [np.stack([labelled[pattern], *counts[pattern]], axis=-1) for pattern in Pattern]
    return np.stack(packed, axis=-1, dtype=np.int64)
