"""What can be measured on an attention map: where its rows look, and how sharply. NumPy only.

Weights are [queries, keys], masked cells NaN. Rows in which a query has only one key to read are left out of
shares and means: such a row says nothing about the head.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

NOTABLE_SHARE = 0.6  # below this share of rows a pattern is not named
LEAST_ROWS = 3  # with fewer rows, anything looks like a pattern

# A decoder row is the step that predicts the next token; what stands on its diagonal is the token just fed.
_OFFSETS = {
    "encoder": {0: "the token itself", -1: "the previous token", -2: "the token two before", 1: "the next token"},
    "decoder": {0: "the token just fed", -1: "the token fed one step before", -2: "the token fed two steps before"},
}


@dataclass(frozen=True)
class Pattern:
    """What rows of a map have their largest weight on: in how many of the `eligible` rows, which could have."""

    target: str
    rows: int
    eligible: int

    @property
    def share(self) -> float:
        """rows / eligible; 0 where too few rows are eligible to call it a pattern."""
        return self.rows / self.eligible if self.eligible >= LEAST_ROWS else 0.0


def mean_maximum(weights: np.ndarray) -> float:
    """Mean of the row maxima over rows that have a choice: 1 when each reads a single key, NaN without such a row."""
    rows = _rows_with_choice(_open(weights))
    return float(np.nanmax(weights[rows], axis=1).mean()) if len(rows) else float("nan")


def mean_entropy(weights: np.ndarray) -> float:
    """Mean entropy in nats of the rows that have a choice, NaN without such a row."""
    rows = _rows_with_choice(_open(weights))
    return float(row_entropy(weights)[rows].mean()) if len(rows) else float("nan")


def confidence(weights: np.ndarray, key_tokens: tuple[str, ...]) -> float:
    """Mean of the row maxima, the end of sentence left out of the keys (Voita et al. 2019, 5.1): a head that only
    rests there is not confident of anything. 0 where no other key is left.
    """
    others = np.array(key_tokens) != "</s>"
    rows = _rows_with_choice(_open(weights))
    return float(np.nanmax(weights[rows][:, others], axis=1).mean()) if len(rows) and others.any() else 0.0


def row_entropy(weights: np.ndarray) -> np.ndarray:
    """Entropy of each row in nats, 0 log 0 = 0: [queries]. 0 for a single key, log(keys) for an even spread."""
    weights = np.nan_to_num(np.asarray(weights, dtype=np.float64))
    return -(weights * np.log(np.where(weights > 0, weights, 1.0))).sum(axis=-1)


def offset_pattern(weights: np.ndarray, offset: int, target: str) -> Pattern:
    """Rows whose maximum is `offset` places from the diagonal, among those that have such a key to read."""
    weights = _open(weights)
    rows = _rows_with_choice(weights)
    columns = rows + offset
    inside = (columns >= 0) & (columns < weights.shape[1])
    rows, columns = rows[inside], columns[inside]
    readable = weights[rows, columns] > -np.inf
    rows, columns = rows[readable], columns[readable]
    return Pattern(target, int((weights[rows].argmax(axis=1) == columns).sum()), len(rows))


def keys_pattern(weights: np.ndarray, keys: np.ndarray, target: str) -> Pattern:
    """Rows whose maximum is on one of these keys (True in a [keys] array), among all rows."""
    weights = _open(weights)
    rows = _rows_with_choice(weights)
    return Pattern(target, int(keys[weights[rows].argmax(axis=1)].sum()), len(rows))


def main_pattern(weights: np.ndarray, kind: str, key_tokens: tuple[str, ...]) -> Pattern | None:
    """The pattern that most rows of a map follow, or None when no pattern holds for NOTABLE_SHARE of them.

    Offsets are asked of self-attention only: rows and columns of cross-attention are different sentences.
    """
    patterns = [offset_pattern(weights, offset, words) for offset, words in _OFFSETS.get(kind, {}).items()]
    names = np.array(key_tokens)
    patterns += [
        keys_pattern(weights, np.isin(names, tokens), target)
        for target, tokens in (
            ("the end of sentence </s>", ["</s>"]),
            ("the beginning of sentence <s>", ["<s>"]),
            ("punctuation", list(".,!?;:")),
        )
    ]
    best = max(patterns, key=lambda pattern: pattern.share)
    return best if best.share >= NOTABLE_SHARE else None


def rows_with_choice(weights: np.ndarray) -> int:
    """Number of rows that have more than one key to read."""
    return len(_rows_with_choice(_open(weights)))


def _open(weights: np.ndarray) -> np.ndarray:
    """The weights with masked cells (NaN) at minus infinity, so that no maximum falls on them."""
    return np.where(np.isnan(weights), -np.inf, weights)


def _rows_with_choice(weights: np.ndarray) -> np.ndarray:
    return np.flatnonzero((weights > -np.inf).sum(axis=1) > 1)


PUNCTUATION = frozenset(".,!?;:…«»„“”\"'()-")

# What a head must reach to get its label, in the order in which labels are tried. Voita et al. 2019 call a head
# positional at 0.9; the others are ours.
THRESHOLDS = {
    "previous": 0.9, "same": 0.9, "next": 0.9, "mirrored": 0.9, "end of sentence": 0.8, "beginning of sentence": 0.8,
    "punctuation": 0.8, "alignment": 0.8,
}  # fmt: skip
_LABEL_OFFSETS = {"previous": -1, "same": 0, "next": 1}
_COLUMNS = {
    "end of sentence": lambda token: token == "</s>",
    "beginning of sentence": lambda token: token == "<s>",
    "punctuation": lambda token: is_punctuation(token),
}


@dataclass(frozen=True)
class HeadMeasures:
    """One head of one sentence; layer and head count from 0.

    shares: of the rows that could, how many have their maximum there, by the names in THRESHOLDS; NaN where fewer than
    LEAST_ROWS rows could, no column is of that sort, or it makes no sense for the kind. entropy: mean of the rows in
    nats; confidence: mean of the row maxima, end of sentence left out. `label` is the first name whose threshold is
    reached; None where none is, or where a row has two equal maxima and so no place of its own.
    """

    kind: str
    layer: int
    head: int
    shares: dict[str, float]
    entropy: float
    confidence: float
    label: str | None


def measure_heads(kind: str, weights: np.ndarray, keys: Sequence[str]) -> list[HeadMeasures]:
    """All heads of a kind, layer by layer. Raises ValueError where `keys` are not as many as the columns.

    "alignment" is asked of cross-attention: the maximum is where the mean over all its heads has its own, the source
    token that this sentence's heads agree on: no alignment from outside. "previous", "same" and "next" are asked of
    self-attention, whose rows and columns are the same tokens; "mirrored" of all but the masked decoder.
    """
    if len(keys) != weights.shape[-1]:
        raise ValueError(f"expected {weights.shape[-1]} keys, got {len(keys)}")
    agreed = np.nanmean(weights, axis=(0, 1)).argmax(axis=-1) if kind == "cross" else None
    return [
        _measure(kind, layer, head, weights[layer, head], tuple(keys), agreed)
        for layer, head in np.ndindex(*weights.shape[:2])
    ]


def _measure(
    kind: str, layer: int, head: int, weights: np.ndarray, keys: tuple[str, ...], agreed: np.ndarray | None
) -> HeadMeasures:
    shares = {}
    for name, belongs in _COLUMNS.items():
        columns = np.array(list(map(belongs, keys)))
        if columns.any():
            pattern = keys_pattern(weights, columns, "")
            shares[name] = _share(pattern.rows, pattern.eligible)
    if kind != "cross":  # rows and columns of cross-attention are different sentences
        for name, offset in _LABEL_OFFSETS.items():
            if kind == "encoder" or offset <= 0:
                pattern = offset_pattern(weights, offset, "")
                shares[name] = _share(pattern.rows, pattern.eligible)
    if kind != "decoder":
        shares["mirrored"] = mirrored_share(weights)
    if agreed is not None:
        rows = _unmasked_rows_with_choice(weights)
        found = np.nan_to_num(weights[rows], nan=-1.0).argmax(axis=-1)
        shares["alignment"] = _share(int((found == agreed[rows]).sum()), len(rows))
    shares = {name: shares.get(name, float("nan")) for name in THRESHOLDS}
    tied = ((weights == np.nanmax(weights, axis=1, keepdims=True)).sum(axis=1) > 1).any()
    label = None if tied else next((name for name, least in THRESHOLDS.items() if shares[name] >= least), None)
    return HeadMeasures(kind, layer, head, shares, mean_entropy(weights), confidence(weights, keys), label)


def mirrored_share(weights: np.ndarray) -> float:
    """The share of rows whose maximum lies on one line against the diagonal, the best of all such lines.

    A row counts for the line on which row + column is the same. Short maps have many lines and few rows: NaN below
    twice LEAST_ROWS rows.
    """
    rows = _unmasked_rows_with_choice(weights)
    if len(rows) < 2 * LEAST_ROWS:
        return float("nan")
    sums = rows + np.nan_to_num(weights[rows], nan=-1.0).argmax(axis=-1)
    return float(np.bincount(sums).max() / len(rows))


def worth_a_look(measured: Sequence[HeadMeasures], count: int = 3) -> list[HeadMeasures]:
    """The heads to look at first, as unlike as can be: of each label the most confident, then those without a label,
    then the rest, always the most confident first. Fewer than `count` only where there are fewer heads.
    """
    by_confidence = sorted(measured, key=lambda head: -head.confidence)
    first = {head.label: head for head in reversed(by_confidence) if head.label}.values()
    ranked = sorted(by_confidence, key=lambda head: (head not in first, head.label is not None))
    return ranked[:count]


def is_punctuation(token: str) -> bool:
    """True for a token of nothing but punctuation marks, the sign of a word's beginning aside."""
    marks = token.lstrip("▁")
    return bool(marks) and PUNCTUATION.issuperset(marks)


def _share(rows: int, eligible: int) -> float:
    return rows / eligible if eligible >= LEAST_ROWS else float("nan")


def _unmasked_rows_with_choice(weights: np.ndarray) -> np.ndarray:
    return np.flatnonzero((~np.isnan(weights)).sum(axis=1) > 1)
