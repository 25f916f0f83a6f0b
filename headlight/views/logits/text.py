"""Sentences on logits, sampling, the logit lens and calibration, computed from what is shown."""

from collections.abc import Callable, Sequence

import numpy as np

from headlight.plots.text import chance_words, counted, percent, quoted, signed, tiny
from transformer.decoding.truncation import Truncation
from transformer.evaluation import Confidence
from transformer.interpret.activations import Predictions

_TERMS = 4  # largest products of a logit that are written out


def logit_by_hand(hidden: np.ndarray, row: np.ndarray, logit: float, bias: float | None = None) -> str:
    """A logit as the dot product of the decoder's last vector and the token's row of the output projection.

    `bias` is what is added for the token where the projection has one.
    """
    products = hidden.astype(np.float64) * row.astype(np.float64)
    order = np.argsort(-np.abs(products))[:_TERMS]
    terms = " + ".join(f"{signed(hidden[i])} × {signed(row[i])} (dimension {i + 1})" for i in order)
    rest = products.sum() - products[order].sum()
    total = products.sum() + (bias or 0.0)
    gap = abs(total - float(logit))
    left = len(products) - len(order)
    others = f" + {counted(left, 'other product')} {signed(rest)}" if left else ""
    added = "" if bias is None else f" + bias {signed(bias)}"
    return f"{terms}{others}{added} = {signed(total)}. The model has {signed(logit)}, difference {tiny(gap)}."


def softmax_by_hand(cut: Truncation, id: int, probability: float) -> str:
    """The token's share of the sum of all exponentials, both less the largest logit."""
    largest = float(cut.logits.max())
    total = float(np.exp(cut.logits - largest).sum())
    power = float(np.exp(cut.logits[id] - largest))
    gap = abs(power / total - probability)
    less = signed(largest) if largest >= 0 else f"({signed(largest)})"
    return (
        f"exp({signed(cut.logits[id])} − {less}) / Σ exp(logit − {less}) = {power:.4f} / {total:.4f} = "
        f"{power / total:.4f}, over all {len(cut.logits):,} tokens. The model has {probability:.4f}, difference "
        f"{tiny(gap)}."
    )


def describe_cut(cut: Truncation, name: Callable[[int], str], temperature: float) -> str:
    """How many tokens may still be drawn, how much mass is truncated, and what the most probable one has now.

    The tokens that decoding never chooses are named, and counted among those that may not be drawn.
    """
    kept, best = int(cut.kept.sum()), int(cut.order[0])
    text = f"{quoted(name(best))} has {chance_words(float(cut.own[best]))} by the logits"
    never = " and ".join(map(name, cut.forbidden))
    if kept == len(cut.kept) - len(cut.forbidden) and temperature == 1:
        but = f" but {never}, which decoding never chooses," if never else ""
        return f"{text}. Nothing is truncated: all {len(cut.kept):,} tokens{but} may be drawn."
    if temperature != 1:
        text += f", {chance_words(float(cut.scaled[best]))} at temperature {temperature:g}"
    drawn = f"{quoted(name(best))} is drawn with {chance_words(float(cut.final[best]))}"
    if not cut.kept[best]:
        drawn = f"{quoted(name(best))} is never chosen in decoding"
    lost = float(cut.scaled[~cut.kept].sum())
    rescaled = ""
    if lost > 0:
        had, left = chance_words(lost), chance_words(cut.kept_mass)
        rescaled = f"; the others had {had} of the mass, and what is kept is divided by its own {left}"
    return f"{text}. {counted(kept, 'token')} of {len(cut.kept):,} may still be drawn{rescaled}: {drawn}."


def layer_names(rows: int) -> list[str]:
    """What the rows of a lens are called."""
    return ["start", *(f"layer {layer}" for layer in range(1, rows))]


def lens_rows(lens: Predictions, name: Callable[[int], str]) -> list[tuple[str, list[str]]]:
    """For each layer its name, and a cell a step: its top-1 token, below it probability and rank of the final token.

    `name` turns an id into the token's text.
    """
    rows, steps = lens.probabilities.shape

    def cell(row: int, step: int) -> str:
        probability, rank = chance_words(float(lens.probabilities[row, step])), lens.ranks[row, step]
        return f"{name(int(lens.best_ids[row, step, 0]))}\n{probability}, rank {rank:,}"

    return [(layer, [cell(row, step) for step in range(steps)]) for row, layer in enumerate(layer_names(rows))]


def describe_lens(lens: Predictions, following: Sequence[str]) -> str:
    """From which layer on the final token is the top-1 prediction, step by step, and the step where it ranks worst.

    A token that was forced, sampled or found by beam search may never be: it is counted apart.
    """
    rows, steps = lens.ranks.shape
    settled = [_settled(lens.ranks[:, step]) for step in range(steps)]
    names = layer_names(rows)
    parts = [f"from {names[row]} on in {settled.count(row)}" for row in range(rows) if row in settled]
    if rows in settled:
        parts.append(f"not even after the last layer in {settled.count(rows)}")
    hardest = int(np.log(lens.ranks).mean(axis=0).argmax())
    ranks = ", ".join(f"{rank:,}" for rank in lens.ranks[:, hardest])
    return (
        f"The final token is the top-1 prediction {'; '.join(parts)} of {counted(steps, 'step')}. Its rank has the "
        f"largest geometric mean over start and layers at step {hardest + 1}, {quoted(following[hardest])}: {ranks}, "
        f"from {names[0]} to {names[-1]}."
    )


def _settled(ranks: np.ndarray) -> int:
    """The first row from which on the rank is 1; the number of rows where the last is not."""
    wrong = np.flatnonzero(ranks != 1)
    return int(wrong[-1]) + 1 if len(wrong) else 0


def describe_confidence(measured: Confidence, epsilon: float | None, best_reachable: float | None) -> str:
    """The mean probability of the top-1 prediction, its accuracy, and how both stand against label smoothing."""
    text = (
        f"Over {counted(len(measured.best), 'token')} the top-1 prediction has a probability of "
        f"{measured.best.mean():.2f} on average and is right in {percent(measured.right.mean())} of cases. The 90th "
        f"percentile of that probability is {np.quantile(measured.best, 0.9):.4f}, the highest "
        f"{measured.best.max():.4f}."
    )
    if epsilon is None:
        return text + " Whether it was trained with label smoothing is not recorded in this checkpoint."
    if not epsilon:
        return text + " The model was trained without label smoothing: its loss is least at a probability of 1."
    above = (measured.best > best_reachable).mean()
    return (
        f"{text} It was trained with ε = {epsilon:g}, whose loss is least at {best_reachable:.4f}, not at 1: the "
        f"top-1 probability of {percent(above)} of the tokens is above that."
    )
