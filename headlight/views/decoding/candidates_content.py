"""Sentences on the logits of one step and on the tokens that sampling may draw."""

from collections.abc import Callable

import numpy as np

from headlight.app.finding import Finding
from headlight.plots.numbers import format_error, format_probability, pluralize, signed
from headlight.plots.tokens import quoted
from transformer.decoding.sampling import Truncation

_TERMS = 4  # largest products of a logit that are written out


def logit_by_hand(hidden: np.ndarray, row: np.ndarray, logit: float, bias: float | None = None) -> str:
    """Write a logit as the decoder's last vector times the token's row of the output projection, plus its bias."""
    products = hidden.astype(np.float64) * row.astype(np.float64)
    order = np.argsort(-np.abs(products))[:_TERMS]
    terms = " + ".join(f"{signed(hidden[i])} × {signed(row[i])} (dimension {i + 1})" for i in order)
    others = (
        f"{pluralize(len(products) - len(order), 'other product')} {signed(products.sum() - products[order].sum())}"
    )
    added = "" if bias is None else f" + bias {signed(bias)}"
    total = products.sum() + (bias or 0.0)
    gap = format_error(abs(total - float(logit)))
    return f"{terms} + {others}{added} = {signed(total)}. The model has {signed(logit)}, difference {gap}."


def softmax_by_hand(cut: Truncation, token_id: int, probability: float) -> str:
    """Write a token's share of the sum of all exponentials, both less the largest logit."""
    largest = float(cut.logits.max())
    total = float(np.exp(cut.logits - largest).sum())
    power = float(np.exp(cut.logits[token_id] - largest))
    less = signed(largest) if largest >= 0 else f"({signed(largest)})"
    return (
        f"exp({signed(cut.logits[token_id])} − {less}) / Σ exp(logit − {less}) = {power:.4f} / {total:.4f} = "
        f"{power / total:.4f}, over all {len(cut.logits):,} tokens. The model has {probability:.4f}, difference "
        f"{format_error(abs(power / total - probability))}."
    )


def describe_cut(cut: Truncation, name: Callable[[int], str], temperature: float) -> Finding:
    """Say how many tokens may be drawn, what the most probable of them gets, and which ones decoding never chooses."""
    best = int(cut.order[cut.kept[cut.order]][0])
    own, scaled, final = (format_probability(float(values[best])) for values in (cut.own, cut.scaled, cut.final))
    tempered = "" if temperature == 1 else f", {scaled} at temperature {temperature:g}"
    never = f" Decoding never chooses {' or '.join(map(name, cut.forbidden))}." if cut.forbidden else ""
    return Finding(
        f"{int(cut.kept.sum()):,} of {len(cut.kept):,} tokens may be drawn, {quoted(name(best))} with {final}.",
        f"It has {own} by the logits{tempered}. What is cut off held "
        f"{format_probability(float(cut.scaled[~cut.kept].sum()))} before.{never}",
    )
