"""Sentences on the logit lens and on calibration."""

from collections.abc import Callable

import numpy as np

from headlight.plots.decoding import layer_names
from headlight.plots.text import (
    Finding,
    TokenCell,
    format_probability,
    percent,
    pluralize,
    quoted,
    shown_token,
)
from transformer.evaluation import Confidence
from transformer.experiments.training import Smoothing
from transformer.interpret.activations import Predictions
from transformer.interpret.trace import Trace


def lens_rows(lens: Predictions, name: Callable[[int], str]) -> list[tuple[str, list[TokenCell]]]:
    """Return for each layer its name, and a cell per step: its top-1 token, probability and rank of the final token.

    `name` turns an id into the token's text.
    """
    rows, steps = lens.probabilities.shape

    def cell(row: int, step: int) -> TokenCell:
        token = name(int(lens.best_ids[row, step, 0]))
        probability, rank = format_probability(float(lens.probabilities[row, step])), lens.ranks[row, step]
        return TokenCell(token, shown_token(token), f"\n{probability}, rank {rank:,}")

    return [(layer, [cell(row, step) for step in range(steps)]) for row, layer in enumerate(layer_names(rows))]


def describe_lens(lens: Predictions, trace: Trace) -> Finding:
    """Say from which layer on the final token leads, and at which step it ranks worst, over the steps with a choice.

    A token that was sampled or found by beam search may never lead: it is counted apart.
    """
    names, chosen = layer_names(len(lens.ranks)), lens.ranks[:, trace.num_forced :]
    settled = [_settled(ranks) for ranks in chosen.T]
    early = sum(row < len(names) - 1 for row in settled)
    leads = [*(f"from {name} on" for name in names), "not even after the last layer"]
    counts = "; ".join(f"{words} in {settled.count(row)}" for row, words in enumerate(leads) if row in settled)
    hardest = trace.num_forced + int(np.log(chosen).mean(axis=0).argmax())
    ranks = ", ".join(f"{rank:,}" for rank in lens.ranks[:, hardest])
    return Finding(
        f"{early} of {pluralize(len(settled), 'final token')} lead before the last layer.",
        f"The final token is the top-1 prediction {counts}. By geometric mean its rank is worst at step {hardest + 1}, "
        f"{quoted(trace.target_tokens[hardest])}: {ranks}, from start to {names[-1]}.",
    )


def _settled(ranks: np.ndarray) -> int:
    """Return the first row from which on the rank is 1, the number of rows if the last is not."""
    wrong = np.flatnonzero(ranks != 1)
    return int(wrong[-1]) + 1 if len(wrong) else 0


def describe_confidence(measured: Confidence, smoothing: Smoothing | None) -> Finding:
    """Say how sure and how right the top-1 prediction is, and how that compares with what label smoothing asks for."""
    right, count = percent(measured.right.mean()), pluralize(len(measured.best), "token")
    headline = f"The top-1 prediction is right in {right} of {count}."
    sure = f"Its mean probability is {measured.best.mean():.2f}."
    if smoothing is None or not smoothing.epsilon:
        return Finding(headline, sure)
    above = percent((measured.best > smoothing.right).mean())
    return Finding(
        headline,
        f"{sure} Trained with label smoothing ε = {smoothing.epsilon:g}, the loss of a right token is least at "
        f"{smoothing.right:.4f}, above which {above} of the tokens lie.",
    )
