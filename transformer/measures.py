"""What can be measured on an attention map: where its rows look, and how sharply. NumPy only.

Weights are [queries, keys], masked cells NaN or 0. Rows in which a query has only one key to read are left out of
shares: such a row says nothing about the head.
"""

from dataclasses import dataclass

import numpy as np

POSITIONAL_SHARE = 0.9  # Voita et al. 2019, 5.2.1: at least 90 % of a positional head's maxima are at one offset
NOTABLE_SHARE = 0.6  # below this share of rows a pattern is not named


@dataclass(frozen=True)
class Pattern:
    """Where most rows of a map have their largest weight, in words that end "looks at …", and the share of rows."""

    target: str
    share: float


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


def share_at_offset(weights: np.ndarray, offset: int) -> float:
    """Share of rows whose maximum is `offset` places from the diagonal, among rows that have such a key to read."""
    weights = _open(weights)
    rows = _rows_with_choice(weights)
    columns = rows + offset
    inside = (columns >= 0) & (columns < weights.shape[1])
    rows, columns = rows[inside], columns[inside]
    readable = weights[rows, columns] > -np.inf
    rows, columns = rows[readable], columns[readable]
    return float((weights[rows].argmax(axis=1) == columns).mean()) if len(rows) else 0.0


def share_on_keys(weights: np.ndarray, keys: np.ndarray) -> float:
    """Share of rows whose maximum is on one of these keys (True in a [keys] array), among rows that may read one."""
    weights = _open(weights)
    rows = _rows_with_choice(weights)
    rows = rows[(weights[rows][:, keys] > -np.inf).any(axis=1)] if keys.any() else rows[:0]
    return float(keys[weights[rows].argmax(axis=1)].mean()) if len(rows) else 0.0


def main_pattern(weights: np.ndarray, kind: str, key_tokens: tuple[str, ...]) -> Pattern | None:
    """The pattern that most rows of a map follow, or None when no pattern holds for NOTABLE_SHARE of them.

    Offsets are asked of self-attention only: rows and columns of cross-attention are different sentences.
    """
    patterns = []
    if kind in ("encoder", "decoder"):
        patterns = [
            Pattern("the token itself", share_at_offset(weights, 0)),
            Pattern("the previous token", share_at_offset(weights, -1)),
            Pattern("the token two before", share_at_offset(weights, -2)),
        ]
    if kind == "encoder":
        patterns.append(Pattern("the next token", share_at_offset(weights, 1)))
    names = np.array(key_tokens)
    patterns += [
        Pattern(words, share_on_keys(weights, np.isin(names, tokens)))
        for words, tokens in (
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
