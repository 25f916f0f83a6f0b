"""What can be measured on an attention map: where its rows look, and how sharply. NumPy only.

Weights are [queries, keys], masked cells NaN. Rows in which a query has only one key to read are left out of
shares and means: such a row says nothing about the head.
"""

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
