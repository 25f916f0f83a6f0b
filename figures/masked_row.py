"""One row of a head written out: score, mask, exponential, weight, as a person would do it by hand."""

import numpy as np

from transformer.masked_head import MaskedHead

from .style import signed


def row_by_hand(head: MaskedHead, row: int) -> list[tuple[str, list[str]]]:
    """The lines of the calculation, each with its name and one text a key; the last is the model's own weight."""
    scores = head.scores[row].astype(np.float64)
    is_open = head.open[row]
    powers = np.where(is_open, np.exp(scores), 0.0)
    return [
        ("score", [signed(score) for score in scores]),
        ("after the mask", [signed(s) if o else "−∞" for s, o in zip(scores, is_open, strict=True)]),
        ("exp", [_power(power) for power in powers]),
        (f"exp / {_power(powers.sum())}", [_weight(power / powers.sum()) for power in powers]),
        ("the model's weight", [_weight(weight) for weight in head.weights[row]]),
    ]


def row_words(head: MaskedHead, row: int) -> str:
    """The calculation in a sentence: the sum over the open cells, and the largest weight as an example."""
    is_open = head.open[row]
    powers = np.where(is_open, np.exp(head.scores[row].astype(np.float64)), 0.0)
    key = int(powers.argmax())
    total, largest = _power(powers.sum()), _power(powers[key])
    return (
        f"Row {row + 1}{_row_name(head, row)}: exp(score) summed over the {int(is_open.sum())} open cells is {total}. "
        f"The largest term, “{head.keys[key]}”, is exp({signed(head.scores[row, key])}) = {largest}, so its weight is "
        f"{largest} / {total} = {powers[key] / powers.sum():.4f}; the model's own is {head.weights[row, key]:.4f}."
    )


def _row_name(head: MaskedHead, row: int) -> str:
    if row >= head.real_queries:
        return ", padding that nobody reads"
    return f", the query of “{head.fed[row]}”" if head.predicted is None else f", fed “{head.fed[row]}”"


def _power(value: float) -> str:
    """Four digits; large ones whole."""
    return f"{value:.4g}" if value < 1000 else f"{value:,.0f}"


def _weight(value: float) -> str:
    """Four decimals; "0" for nothing at all, which is more than a small weight rounded."""
    return f"{value:.4f}" if value else "0"
