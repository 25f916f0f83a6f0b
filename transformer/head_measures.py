"""What each head of a sentence does, measured: where its rows have their maximum, how sharply, and a label or none.

NumPy only. Weights are [layers, heads, queries, keys], masked cells NaN (see `maps.masked_maps`). A label is given only
where a share reaches its threshold over enough rows: a wrong label is worse than none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .measures import LEAST_ROWS, confidence, keys_pattern, mean_entropy, offset_pattern

PUNCTUATION = frozenset(".,!?;:…«»„“”\"'()-")

# What a head must reach to get its label, in the order in which labels are tried. Voita et al. 2019 call a head
# positional at 0.9; the others are ours.
THRESHOLDS = {
    "previous": 0.9, "same": 0.9, "next": 0.9, "mirrored": 0.9, "end of sentence": 0.8, "beginning of sentence": 0.8,
    "punctuation": 0.8, "alignment": 0.8,
}  # fmt: skip
_OFFSETS = {"previous": -1, "same": 0, "next": 1}
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
        for name, offset in _OFFSETS.items():
            if kind == "encoder" or offset <= 0:
                pattern = offset_pattern(weights, offset, "")
                shares[name] = _share(pattern.rows, pattern.eligible)
    if kind != "decoder":
        shares["mirrored"] = mirrored_share(weights)
    if agreed is not None:
        rows = _rows_with_choice(weights)
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
    rows = _rows_with_choice(weights)
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


def _rows_with_choice(weights: np.ndarray) -> np.ndarray:
    return np.flatnonzero((~np.isnan(weights)).sum(axis=1) > 1)
