"""The patterns and labels of `head_patterns` for a whole batch at once, where that goes sentence by sentence."""

import numpy as np

from ...model.names import AttentionKind
from ..head_patterns import LEAST_ROWS, OFFSETS, THRESHOLDS, Counts, Pattern, counted
from .batch import Layout

_INDEX = {pattern: index for index, pattern in enumerate(Pattern)}


def count_roles(kind: AttentionKind, weights: np.ndarray, layout: Layout, several: bool) -> np.ndarray:
    """Count labels, rows and eligible rows of each head in each sentence: [sentences, heads, 3, patterns], int64.

    weights: [sentences, heads, queries, keys]; `several`: whether the model has more than one head of the kind, for the
    alignments are those on which heads agree. The counts are those of `head_patterns.measure_heads`.
    """
    filled = np.where(layout.cells[:, None], weights, -1.0).astype(np.float32)
    maxima = filled.argmax(axis=-1)  # sentences heads queries
    greatest = np.take_along_axis(filled, maxima[..., None], axis=-1)
    tied = (((filled == greatest).sum(axis=-1) > 1) & layout.rows[:, None]).any(axis=-1)
    counts = np.zeros((*weights.shape[:2], 3, len(Pattern)), dtype=np.int64)
    for pattern, (follow, rows) in _patterns(kind, weights, layout, maxima, several).items():
        counts[:, :, 1, _INDEX[pattern]], counts[:, :, 2, _INDEX[pattern]] = follow, rows
    free = ~tied  # of a label so far
    for pattern, least in THRESHOLDS.items():
        rows, eligible = counts[:, :, 1, _INDEX[pattern]], counts[:, :, 2, _INDEX[pattern]]
        reached = free & (eligible >= LEAST_ROWS) & (rows / np.maximum(eligible, 1) >= least)
        counts[:, :, 0, _INDEX[pattern]] = reached
        free &= ~reached
    return counts


def _patterns(
    kind: AttentionKind, weights: np.ndarray, layout: Layout, maxima: np.ndarray, several: bool
) -> dict[Pattern, Counts]:
    choice = layout.choice[:, None]  # sentences 1 queries
    counts: dict[Pattern, Counts] = {}
    columns = {
        Pattern.END: layout.end & ~layout.begin,
        Pattern.BEGINNING: layout.begin,
        Pattern.PUNCTUATION: layout.punctuation,
    }
    for pattern, sort in columns.items():
        eligible = choice & sort.any(axis=-1)[:, None, None]  # of no row where a sentence has no such column
        counts[pattern] = counted(np.take_along_axis(sort[:, None], maxima, axis=-1), eligible)
    if kind != AttentionKind.CROSS:
        for pattern, offset in OFFSETS.items():
            column = np.arange(maxima.shape[-1]) + offset
            inside = (column >= 0) & (column < layout.num_keys[:, None])  # sentences queries
            if kind == AttentionKind.ENCODER or offset <= 0:
                counts[pattern] = counted(maxima == column, choice & inside[:, None])
    if kind != AttentionKind.DECODER:
        counts[Pattern.MIRRORED] = _mirrored(choice, maxima)
    if kind == AttentionKind.CROSS and several:
        aligned = _aligned(weights, layout)[:, None]  # sentences 1 queries
        inputs = np.concatenate([np.full_like(aligned[..., :1], -1), aligned[..., :-1]], axis=-1)
        for pattern, words in ((Pattern.OUTPUT_ALIGNMENT, aligned), (Pattern.INPUT_ALIGNMENT, inputs)):
            counts[pattern] = counted(maxima == words, (words >= 0) & layout.rows[:, None])
    return counts


def _mirrored(choice: np.ndarray, maxima: np.ndarray) -> Counts:
    """Count as `head_patterns` does, row by row: of many maps that is faster than all pairs of rows at once."""
    lines = np.where(choice, np.arange(maxima.shape[-1]) + maxima, -1)  # row + column
    same = np.zeros(lines.shape, dtype=np.int64)  # rows on the same line as this one
    for row in range(lines.shape[-1]):
        same += lines == lines[..., row : row + 1]
    rows = choice.sum(axis=-1)
    enough = rows >= 2 * LEAST_ROWS
    return np.where(enough, np.where(choice, same, 0).max(axis=-1, initial=0), 0), np.where(enough, rows, 0)


def _aligned(weights: np.ndarray, layout: Layout) -> np.ndarray:
    """Return what `aligned_keys` does for each sentence: [sentences, queries]."""
    words = layout.word_keys[:, None]  # sentences 1 keys
    found = np.where(words, weights.mean(axis=1), -1.0).argmax(axis=-1)
    return np.where(layout.word_outputs & words.any(axis=-1), found, -1)
