"""Patterns of an attention head in one sentence: the positions of its largest weights, their size, and a label.

Weights are [queries, keys], masked cells NaN. Rows in which a query has only one key to read are left out of shares and
means: such a row says nothing about the head. NumPy only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import entropy
from ..data.tokenizer import SPACE
from ..model.names import AttentionKind, Name

LEAST_ROWS = 3  # with fewer rows, anything looks like a pattern
PUNCTUATION = frozenset(".,!?;:…«»„“”\"'()-")


class Pattern(Name):
    """Position of the largest weight in most rows of a head."""

    PREVIOUS = "previous"
    SAME = "same"
    NEXT = "next"
    MIRRORED = "mirrored"
    END = "end of sentence"
    BEGINNING = "beginning of sentence"
    PUNCTUATION = "punctuation"
    OUTPUT_ALIGNMENT = "alignment"
    INPUT_ALIGNMENT = "input alignment"


# The share of rows that a head must reach to get a pattern's name, in the order in which they are tried. Voita et al.
# 2019 (5.1) call a head positional whose maxima are to 0.9 or more one place before, or one after, over a corpus; the
# other patterns and thresholds are ours.
THRESHOLDS = dict.fromkeys((Pattern.PREVIOUS, Pattern.SAME, Pattern.NEXT, Pattern.MIRRORED), 0.9)
THRESHOLDS |= dict.fromkeys((Pattern.END, Pattern.BEGINNING, Pattern.PUNCTUATION), 0.8)
THRESHOLDS |= dict.fromkeys((Pattern.OUTPUT_ALIGNMENT, Pattern.INPUT_ALIGNMENT), 0.8)
OFFSETS = {Pattern.PREVIOUS: -1, Pattern.SAME: 0, Pattern.NEXT: 1}


@dataclass(frozen=True)
class Share:
    """Number of rows with their largest weight in a certain cell, of the `eligible` rows, which could have it there."""

    rows: int = 0
    eligible: int = 0

    def __float__(self) -> float:
        """rows / eligible; NaN where too few rows are eligible to call it a pattern."""
        return self.rows / self.eligible if self.eligible >= LEAST_ROWS else float("nan")


@dataclass(frozen=True)
class HeadMeasures:
    """One head, or one average of heads, of one sentence.

    counts: the share of rows for each pattern; empty where no column is of that sort, or it makes no sense for the
    kind. entropy: mean of the rows in nats; confidence: see `confidences`. `label` is the first pattern whose threshold
    is reached; None where none is, or where the head is `tied`: a row of it has two equal maxima, and so no cell of its
    own. Layer and head count from 0.
    """

    kind: AttentionKind
    layer: int
    head: int
    counts: dict[Pattern, Share]
    entropy: float
    confidence: float
    label: Pattern | None
    tied: bool = False

    @property
    def shares(self) -> dict[Pattern, float]:
        """The counts as shares from 0 to 1, NaN where there are too few rows."""
        return {pattern: float(share) for pattern, share in self.counts.items()}


def measure_heads(
    kind: AttentionKind | str, weights: np.ndarray, keys: Sequence[str], outputs: Sequence[str] | None = None
) -> list[HeadMeasures]:
    """Measure all heads of a kind, [layers, heads, queries, keys], layer by layer; `outputs`: the output tokens.

    Both alignments are measured for several cross-attention heads with `outputs`, in rows whose output or input
    token is a word (see `aligned_keys`): the maximum is on the source word that is aligned with it. "previous",
    "same" and "next" are measured for self-attention, whose rows and columns are the same tokens; "mirrored" outside
    the masked decoder. Raises ValueError where `keys` are not as many as the columns, or `outputs` as the rows.
    """
    if len(keys) != weights.shape[-1]:
        raise ValueError(f"expected {weights.shape[-1]} keys, got {len(keys)}")
    kind, (layers, heads) = AttentionKind(kind), weights.shape[:2]
    several = kind == AttentionKind.CROSS and layers * heads > 1
    aligned = aligned_keys(weights, keys, outputs) if several and outputs is not None else None
    of_keys = (np.array([is_of(token) for token in keys]) for is_of in (is_end, is_begin, is_punctuation))
    sorts = sorts_of(kind, *of_keys)
    shares, tied = count_patterns(kind, weights, ~np.isnan(weights), sorts, aligned)
    labelled = labels(shares, tied)
    entropies, certain = _mean(entropy(weights), rows_with_choice(weights)), confidences(weights, keys)
    measured = []
    for layer, head in np.ndindex(layers, heads):
        cell = layer, head
        counts = {pattern: Share(int(follow[cell]), int(rows[cell])) for pattern, (follow, rows) in shares.items()}
        label = next((pattern for pattern, has in labelled.items() if has[cell]), None)
        means = float(entropies[cell]), float(certain[cell])
        measured.append(HeadMeasures(kind, layer, head, counts, *means, label, tied=bool(tied[cell])))
    return measured


def aligned_keys(weights: np.ndarray, keys: Sequence[str], outputs: Sequence[str]) -> np.ndarray:
    """Find for each output token the source word on which all cross-attention heads together put most: [queries].

    weights: [layers, heads, queries, keys], of which the mean is taken in the row that predicts the token. -1 for
    special tokens and punctuation, and where the source has no word. It is the agreement of the sentence's own
    heads, no alignment from outside.
    """
    if len(keys) != weights.shape[-1] or len(outputs) != weights.shape[-2]:
        raise ValueError(f"expected {weights.shape[-1]} keys and {weights.shape[-2]} outputs")
    words, predicted = (np.array([is_word(token) for token in side], dtype=bool) for side in (keys, outputs))
    return align(weights.mean(axis=(0, 1)), words, predicted)


def align(mean: np.ndarray, words: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Align as `aligned_keys`, [..., queries], from means [..., queries, keys] and True for tokens that are words."""
    chosen = np.where(words[..., None, :], mean, -1.0).argmax(axis=-1)
    return np.where(outputs & words.any(axis=-1, keepdims=True), chosen, -1)


def measure_head(kind: AttentionKind | str, weights: np.ndarray, keys: Sequence[str]) -> HeadMeasures:
    """Measure one map alone, [queries, keys], without its alignments; `layer` and `head` of the result mean nothing."""
    return measure_heads(kind, weights[None, None], keys)[0]


def mean_maxima(weights: np.ndarray) -> np.ndarray:
    """Average the row maxima over rows that have a choice: 1 when each reads a single key, NaN without such a row.

    Of many maps at once: [..., queries, keys] -> [...].
    """
    return _mean(np.nan_to_num(weights, nan=-1.0).max(axis=-1), rows_with_choice(weights))


def confidences(weights: np.ndarray, keys: Sequence[str]) -> np.ndarray:
    """Average the row maxima without the end of sentence among the keys (Voita et al. 2019, 4): [...].

    weights: [..., queries, keys]. A head that only rests on the end is not confident of anything: 0 where no other key
    is left, for a row as for all.
    """
    others = np.array(keys) != "</s>"
    if not others.any():
        return np.zeros(weights.shape[:-2])
    largest = np.nan_to_num(weights)[..., others].max(axis=-1)
    return np.asarray(np.nan_to_num(_mean(largest, rows_with_choice(weights))))


def most_confident_head(weights: np.ndarray, keys: Sequence[str]) -> tuple[int, int]:
    """Return layer and head, from 0, of the greatest of `confidences`; weights: [layers, heads, queries, keys]."""
    return _largest(confidences(weights, keys))


def strongest_word_pair(
    weights: np.ndarray, keys: Sequence[str], outputs: Sequence[str] | None = None
) -> tuple[int, int] | None:
    """Return query and key of the largest weight in a map [queries, keys] among the keys that are words, and among the
    rows whose `outputs` are; None where nothing but special tokens and punctuation has weight.
    """
    words = np.nan_to_num(weights) * [is_word(token) for token in keys]
    if outputs is not None:
        words = words * np.array([[is_word(token)] for token in outputs])
    query, key = np.unravel_index(words.argmax(), words.shape)
    return (int(query), int(key)) if words[query, key] else None


def is_end(token: str) -> bool:
    """Return True for the end of sentence."""
    return token == "</s>"


def is_begin(token: str) -> bool:
    """Return True for the first input token of a decoder."""
    return token in ("<s>", "<pad>")


def is_punctuation(token: str) -> bool:
    """Return True for a token of nothing but punctuation marks, the sign of a word's beginning aside."""
    marks = token.lstrip(SPACE)
    return bool(marks) and PUNCTUATION.issuperset(marks)


def is_word(token: str) -> bool:
    """Return True for a token that carries letters or digits, unlike punctuation and special tokens."""
    return any(character.isalnum() for character in token) and not (token.startswith("<") and token.endswith(">"))


def word_ranges(tokens: Sequence[str]) -> list[range]:
    """Return the positions of each word and of each run of punctuation marks, in order; special tokens are in none.

    An apostrophe or a hyphen between letters belongs to its word: "don't" is one.
    """
    ranges: list[range] = []
    marks = [is_punctuation(token) and not _joins(tokens, at) for at, token in enumerate(tokens)]
    for position, token in enumerate(tokens):
        if token.startswith("<") and token.endswith(">"):
            continue
        follows = bool(ranges) and ranges[-1].stop == position and not token.startswith(SPACE)
        if follows and marks[position] == marks[position - 1]:
            ranges[-1] = range(ranges[-1].start, position + 1)
        else:
            ranges.append(range(position, position + 1))
    return ranges


def words_of(tokens: Sequence[str]) -> list[str]:
    """Return the words and runs of punctuation marks of a sentence as they are written."""
    return ["".join(tokens[position] for position in word).replace(SPACE, "") for word in word_ranges(tokens)]


def _joins(tokens: Sequence[str], at: int) -> bool:
    """Return True for an apostrophe or a hyphen with a letter on either side."""
    before, after = tokens[at - 1 : at], tokens[at + 1 : at + 2]
    return tokens[at] in ("'", "-") and any(map(is_word, before)) and any(map(is_word, after)) and after[0][0] != SPACE


def rows_with_choice(weights: np.ndarray) -> np.ndarray:
    """Return True for the rows that have more than one key to read: [..., queries, keys] -> [..., queries]."""
    several: np.ndarray = (~np.isnan(weights)).sum(axis=-1) > 1
    return several


# The functions below measure many maps at once, [..., queries, keys]; counts are rows and eligible rows, [...] each.
Counts = tuple[np.ndarray, np.ndarray]
Sorts = Mapping[Pattern, np.ndarray]  # True for keys of the sort that a pattern needs: [..., keys]


def sorts_of(kind: AttentionKind, end: np.ndarray, begin: np.ndarray, punctuation: np.ndarray) -> Sorts:
    """Return True for the keys of each pattern's sort: [..., keys] each."""
    if kind == AttentionKind.DECODER:
        begin = begin | (end & (np.arange(end.shape[-1]) == 0))  # BART's decoder begins with the end's token
    return {Pattern.END: end & ~begin, Pattern.BEGINNING: begin, Pattern.PUNCTUATION: punctuation}


def count_patterns(
    kind: AttentionKind, weights: np.ndarray, cells: np.ndarray, sorts: Sorts, aligned: np.ndarray | None
) -> tuple[dict[Pattern, Counts], np.ndarray]:
    """Count the rows of every pattern, 0 of 0 rows for one that makes no sense; and mark tied maps: [...].

    cells: True = may attend, sorts, and aligned, the key that is aligned with the output of each row, -1 without one,
    [..., queries], broadcast to the weights. Other cells do not count.
    """
    filled = np.where(cells, weights, np.float32(-1))
    maxima = filled.argmax(axis=-1)
    readable: np.ndarray = cells.sum(axis=-1)
    choice, rows = readable > 1, readable > 0
    counts: dict[Pattern, Counts] = {}
    for pattern, sort in sorts.items():
        some = np.asarray(sort.any(axis=-1))[..., None]  # of no row where a sentence has no such column
        counts[pattern] = _counted(_at(sort, maxima), choice & some)
    if kind != AttentionKind.CROSS:  # rows and columns of cross-attention are different sentences
        for pattern, offset in OFFSETS.items():
            if kind == AttentionKind.ENCODER or offset <= 0:
                columns = np.arange(weights.shape[-2]) + offset
                inside = (columns >= 0) & (columns < weights.shape[-1])
                there = cells[..., np.arange(len(columns)), np.where(inside, columns, 0)]
                counts[pattern] = _counted(maxima == columns, choice & inside & there)
    if kind != AttentionKind.DECODER:
        counts[Pattern.MIRRORED] = _mirrored(choice, maxima)
    if aligned is not None:
        inputs = np.roll(aligned, 1, axis=-1)  # a row's input token is the output token of the row before
        inputs[..., 0] = -1
        for pattern, words in ((Pattern.OUTPUT_ALIGNMENT, aligned), (Pattern.INPUT_ALIGNMENT, inputs)):
            counts[pattern] = _counted(maxima == words, (words >= 0) & rows)
    greatest = np.take_along_axis(filled, maxima[..., None], axis=-1)
    tied = ((filled == greatest).sum(axis=-1) > 1) & rows
    none = np.zeros(weights.shape[:-2], dtype=int)
    shares = {pattern: counts.get(pattern, (none, none)) for pattern in Pattern}
    return {pattern: (each[0], np.broadcast_to(each[1], none.shape)) for pattern, each in shares.items()}, tied.any(-1)


def labels(counts: Mapping[Pattern, Counts], tied: np.ndarray) -> dict[Pattern, np.ndarray]:
    """Return True for the maps with each label, the first pattern whose threshold they reach: [...] each."""
    free, named = ~tied, {}
    for pattern, least in THRESHOLDS.items():
        rows, eligible = counts[pattern]
        named[pattern] = free & (eligible >= LEAST_ROWS) & (rows / np.maximum(eligible, 1) >= least)
        free = free & ~named[pattern]
    return named


def _counted(follow: np.ndarray, rows: np.ndarray) -> Counts:
    """Count the rows that follow a pattern, and those that could: [..., queries] -> two of [...]."""
    return (follow & rows).sum(axis=-1), rows.sum(axis=-1)


def _at(sort: np.ndarray, maxima: np.ndarray) -> np.ndarray:
    """Mark rows with their greatest weight on a key of a sort: [..., keys], [..., queries] -> [..., queries]."""
    return np.take_along_axis(np.broadcast_to(sort, (*maxima.shape[:-1], sort.shape[-1])), maxima, axis=-1)


def _mirrored(choice: np.ndarray, maxima: np.ndarray) -> Counts:
    lines = np.where(choice, np.arange(maxima.shape[-1]) + maxima, -1)  # row + column
    same = np.zeros(lines.shape, dtype=np.int64)  # rows on the same line as this one
    for row in range(lines.shape[-1]):  # of many maps that is faster than all pairs of rows at once
        same += lines == lines[..., row : row + 1]
    rows = choice.sum(axis=-1)
    enough = rows >= 2 * LEAST_ROWS
    return np.where(enough, np.where(choice, same, 0).max(axis=-1, initial=0), 0), np.where(enough, rows, 0)


def _mean(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Average over these rows, NaN without any: [..., queries] -> [...]."""
    count, total = rows.sum(axis=-1), np.where(rows, values, 0.0).sum(axis=-1, dtype=np.float64)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


@dataclass(frozen=True, eq=False)
class Focus:
    """The mean row maximum, over rows that have more than one key, of all heads of a kind.

    steps: [snapshots]; values: [snapshots, layers, heads], from 0 to 1, NaN if no row has a choice; `uniform` is the
    baseline, the value of a head that spreads every row evenly.
    """

    steps: np.ndarray
    values: np.ndarray
    uniform: float

    @property
    def known(self) -> bool:
        """True if some row has more than one key to attend to."""
        return bool(np.isfinite(self.uniform))

    def most_changed(self) -> tuple[int, int]:
        """Return layer and head, from 0, whose value differs most between the first snapshot and the last."""
        return _largest(np.abs(self.values[-1] - self.values[0]))


def measure_focus(steps: np.ndarray, weights: np.ndarray) -> Focus:
    """Measure the focus of heads from weights [snapshots, layers, heads, queries, keys], masked cells NaN."""
    rows = rows_with_choice(weights[0, 0, 0])
    keys = (~np.isnan(weights[0, 0, 0])).sum(axis=-1)[rows]
    return Focus(steps, mean_maxima(weights), float((1 / keys).mean()) if rows.any() else float("nan"))


def count_hits(weights: np.ndarray, positions: Sequence[set[int]]) -> np.ndarray:
    """Count the rows whose largest weight lies on one of the keys that are right for it.

    weights: [..., queries, keys]; positions: for each of the first queries, its right keys -> [...].
    """
    largest = weights[..., : len(positions), :].argmax(axis=-1)
    right = [np.isin(largest[..., row], list(keys)) for row, keys in enumerate(positions)]
    return np.asarray(np.sum(right, axis=0))


def best_reader(weights: np.ndarray, positions: Sequence[set[int]]) -> tuple[int, int]:
    """Return layer and head, from 0, of the most hits in [layers, heads, queries, keys]."""
    return _largest(count_hits(weights, positions))


def _largest(values: np.ndarray) -> tuple[int, int]:
    layer, head = np.unravel_index(int(values.argmax()), values.shape)
    return int(layer), int(head)
