"""Sentences on logits, their cut, the logit lens and confidence, computed from what is shown."""

from collections.abc import Callable, Sequence

import numpy as np

from plots.palette import counted, signed, tiny
from plots.text import chance_words, percent, quoted
from transformer.decoding.sampling import Truncation
from transformer.evaluation import Confidence
from transformer.interpret.predictions import Predictions

from .lens_figure import layer_names

_TERMS = 4  # largest products of a logit that are written out


def logit_by_hand(hidden: np.ndarray, row: np.ndarray, logit: float) -> str:
    """A logit as the dot product of the decoder's last vector and the token's row of the generator."""
    products = hidden.astype(np.float64) * row.astype(np.float64)
    order = np.argsort(-np.abs(products))[:_TERMS]
    terms = " + ".join(f"{signed(hidden[i])} × {signed(row[i])} (dimension {i + 1})" for i in order)
    rest = products.sum() - products[order].sum()
    gap = abs(products.sum() - float(logit))
    others = (
        f" + {counted(len(products) - len(order), 'other')} together {signed(rest)}"
        if len(products) > len(order)
        else ""
    )
    return f"{terms}{others} = {signed(products.sum())}. The model has {signed(logit)}, difference {tiny(gap)}."


def softmax_by_hand(cut: Truncation, id: int, probability: float) -> str:
    """The token's share of the sum of all exponentials, both less the largest logit."""
    largest = float(cut.logits.max())
    total = float(np.exp(cut.logits - largest).sum())
    power = float(np.exp(cut.logits[id] - largest))
    gap = abs(power / total - probability)
    less = signed(largest) if largest >= 0 else f"({signed(largest)})"
    return (
        f"exp({signed(cut.logits[id])} − {less}) / Σ exp(logit − {less}) = {power:.4f} / {total:.4f} = "
        f"{power / total:.4f}, over all {len(cut.logits):,} pieces. The model has {probability:.4f}, difference "
        f"{tiny(gap)}."
    )


def describe_cut(cut: Truncation, name: Callable[[int], str], temperature: float) -> str:
    """How many tokens may still be drawn, what was cut, and what the best one has now."""
    kept, best = int(cut.kept.sum()), int(cut.order[0])
    said = f"{quoted(name(best))} has {chance_words(float(cut.own[best]))} by the logits"
    if kept == len(cut.kept) and temperature == 1:
        return f"{said}. Nothing is bent or cut: every one of the {kept:,} pieces may be drawn."
    bent = f", {chance_words(float(cut.scaled[best]))} at temperature {temperature:g}" if temperature != 1 else ""
    lost = 1 - cut.kept_mass
    return (
        f"{said}{bent}. {counted(kept, 'piece')} of {len(cut.kept):,} may still be drawn; the others had "
        f"{chance_words(lost) if lost > 0 else 'nothing'} of the mass, which the kept ones share out: "
        f"{quoted(name(best))} is drawn with {chance_words(float(cut.final[best]))}."
    )


def describe_lens(lens: Predictions, following: Sequence[str]) -> str:
    """At which layer the final token becomes the favourite, step by step, and the step that takes longest."""
    rows, steps = lens.ranks.shape
    settled = [_settled(lens.ranks[:, step]) for step in range(steps)]
    names, counts = layer_names(rows), [settled.count(row) for row in range(rows)]
    parts = [f"{counts[row]} at {names[row]}" for row in range(rows) if counts[row]]
    late = int(np.argmax([np.log(lens.ranks[: max(1, place), step]).sum() for step, place in enumerate(settled)]))
    before = max(0, settled[late] - 1)
    return (
        f"Of {counted(steps, 'step')}, the final token is the favourite for good from: {', '.join(parts)}. The longest "
        f"way has {quoted(following[late])}: after {names[before]} it stands at rank {lens.ranks[before, late]:,}, "
        f"{chance_words(float(lens.probabilities[before, late]))}."
    )


def _settled(ranks: np.ndarray) -> int:
    """The first layer from which on the rank is 1; the last where it never is."""
    wrong = np.flatnonzero(ranks != 1)
    return min(len(ranks) - 1, int(wrong[-1]) + 1) if len(wrong) else 0


def describe_confidence(measured: Confidence, epsilon: float | None, best_reachable: float | None) -> str:
    """How sure and how right, and where the surest tokens stand against what label smoothing wants."""
    top = np.quantile(measured.best, 0.9)
    text = (
        f"Over {len(measured.best):,} tokens the favourite has {measured.best.mean():.2f} on average and is right in "
        f"{percent(measured.right.mean())} of cases. A tenth of all tokens get more than {top:.3f}, the surest "
        f"{measured.best.max():.4f}."
    )
    if not epsilon:
        return text + " The model was trained without label smoothing, so nothing holds it back from 1."
    above = (measured.best > best_reachable).mean()
    return (
        f"{text} It was trained with ε = {epsilon:g}, whose loss is least at {best_reachable:.4f}, not at 1: "
        f"{percent(above)} of the tokens lie above that."
    )
