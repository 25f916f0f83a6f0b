"""What can be measured on an attention map: where its rows look, and how sharply. NumPy only.

Weights are [queries, keys], masked cells NaN or 0. Rows in which a query has only one key to read are left out of
shares: such a row says nothing about the head.
"""

from dataclasses import dataclass

import numpy as np

POSITIONAL_SHARE = 0.9  # Voita et al. 2019, 5.2.1: at least 90 % of a positional head's maxima are at one offset
NOTABLE_SHARE = 0.6  # below this share of rows a pattern is not named
LEAST_ROWS = 3  # with fewer rows, anything looks like a pattern


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


def row_confidence(weights: np.ndarray) -> np.ndarray:
    """The largest weight of each row: [queries]."""
    return np.nanmax(weights, axis=-1)


def confidence(weights: np.ndarray) -> float:
    """Mean of the row maxima (Voita et al. 2019, 5.1): 1 when every query reads a single key."""
    return float(row_confidence(weights).mean())


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
    patterns = []
    if kind in ("encoder", "decoder"):
        patterns = [
            offset_pattern(weights, 0, "the token itself"),
            offset_pattern(weights, -1, "the previous token"),
            offset_pattern(weights, -2, "the token two before"),
        ]
    if kind == "encoder":
        patterns.append(offset_pattern(weights, 1, "the next token"))
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


def _open(weights: np.ndarray) -> np.ndarray:
    """The weights with masked cells (NaN) at minus infinity, so that no maximum falls on them."""
    return np.where(np.isnan(weights), -np.inf, weights)


def _rows_with_choice(weights: np.ndarray) -> np.ndarray:
    return np.flatnonzero((weights > -np.inf).sum(axis=1) > 1)
