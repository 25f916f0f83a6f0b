"""Sentences and formulas on the learning rate, computed from the curves drawn."""

import math
from collections.abc import Sequence

import numpy as np

from headlight.plots.text import format_error, pluralize, scientific
from headlight.plots.training import PAPER
from transformer.config import TrainingConfig
from transformer.training.optimization import Noam, learning_rate

SIX_DIGITS = 1e-5  # rates that differ by less than this part of themselves agree as far as a history writes them
FORMULA = (
    r"\begin{aligned} & rate(step) = factor \cdot d_{model}^{-0.5} \\ "
    r"& \quad \cdot \min\big(step^{-0.5},\; step \cdot warmup^{-1.5}\big) \end{aligned}"
)


def filled_formula(curve: Noam) -> str:
    """Write the formula of one curve with its numbers, in LaTeX."""
    return (
        rf"\begin{{aligned}} & rate(step) = {curve.factor:g} \cdot {curve.d_model}^{{-0.5}} \\ "
        rf"& \quad \cdot \min\big(step^{{-0.5}},\; step \cdot {curve.warmup_steps}^{{-1.5}}\big) \end{{aligned}}"
    )


def peak_formula(curves: Sequence[Noam]) -> str:
    """Write the closed form of each curve's peak with its numbers, in LaTeX."""
    lines = (
        rf"\text{{peak {at}}} &= {curve.factor:g} \cdot {curve.d_model}^{{-0.5}} \cdot {curve.warmup_steps}^{{-0.5}}"
        rf" \\ &= {_power_of_ten(curve.peak)}"
        for at, curve in enumerate(curves, start=1)
    )
    return r"\begin{aligned}" + r" \\[4pt] ".join(lines) + r"\end{aligned}"


def peak_rows(curves: Sequence[Noam], rates: Sequence[np.ndarray]) -> list[tuple[str, list[str]]]:
    """Return for each curve the step and height of its peak as drawn, the closed form, and how far they are apart."""
    rows = []
    for number, (curve, values) in enumerate(zip(curves, rates, strict=True), start=1):
        steps = [f"{values.argmax() + 1:,}", f"{curve.warmup_steps:,}"]
        heights = [scientific(values.max(), 5), scientific(curve.peak, 5), format_error(abs(values.max() - curve.peak))]
        rows.append((f"curve {number}", steps + heights))
    return rows


def describe_rates(curves: Sequence[Noam], rates: Sequence[np.ndarray], logarithmic: bool) -> str:
    """Describe the two halves of the first curve by its numbers, and how each other one differs from it."""
    values = rates[0]
    peak = int(values.argmax()) + 1
    text = (
        f"Curve 1 rises until step {peak:,}; at step {4 * peak:,}, four times as late, its rate is "
        f"{values[4 * peak - 1] / values[peak - 1]:.3g} of the peak."
    )
    if logarithmic:
        text += " On these axes both halves are straight lines with slopes 1 and −0.5, the powers in the formula."
    return " ".join([text, *(_difference(index, curves, rates) for index in range(1, len(curves)))])


def _difference(index: int, curves: Sequence[Noam], rates: Sequence[np.ndarray]) -> str:
    """Say how a curve differs from the first, in settings and in what is drawn."""
    changed = [
        f"{getattr(curves[index], key) / getattr(curves[0], key):.3g} times the {noun}"
        for key, noun in (("warmup_steps", "warm-up"), ("d_model", "d_model"), ("factor", "factor"))
        if getattr(curves[index], key) != getattr(curves[0], key)
    ]
    if not changed:
        return f"Curve {index + 1} lies on curve 1."
    higher = f"{rates[index].max() / rates[0].max():.3g}"
    return f"Curve {index + 1} has {' and '.join(changed)} of curve 1: its peak is {higher} times as high."


def try_rates(curve: Noam, logarithmic: bool) -> str:
    """Say what twice the warm-up would do to a curve, and what logarithmic axes show."""
    fallen = scientific(curve.peak / math.sqrt(2))
    text = f"twice the warm-up for curve 1: its peak falls from {scientific(curve.peak)} to {fallen}."
    return text if logarithmic else f"{text} Or logarithmic axes, where both halves become straight lines."


def describe_trained(
    settings: TrainingConfig, d_model: int, recorded: Sequence[tuple[int, float]], kept_step: int | None = None
) -> str:
    """Say how high the checkpoint's own rate went, beside the paper's, how it ends, and whether its run wrote the same.

    kept_step: that of the weights, if known; a run may end before its schedule does.
    """
    last = settings.max_steps
    top_step = min(settings.warmup_steps, last)
    top, end = (learning_rate(step, d_model, settings) for step in (top_step, last))
    text = (
        f"After {top_step:,} steps of warm-up the rate was {scientific(top)}: {top / PAPER.peak:.3g} times the paper's "
        f"peak, {scientific(PAPER.peak)} at step {PAPER.warmup_steps:,}."
    )
    if settings.schedule == "noam":
        text += f" Its d_model is {d_model} and its factor {settings.rate_factor:g}; the paper's are 512 and 1."
    if settings.cooldown_steps:
        text += (
            f" Over its last {settings.cooldown_steps:,} steps it cools down, which the paper's does not, to "
            f"{scientific(end)} at step {last:,}."
        )
    if kept_step is not None and kept_step < last:
        text += f" The weights kept are those of step {kept_step:,}."
    if not recorded:
        return f"{text} Its run wrote no rates down, so this is the formula alone."
    worst = max(abs(rate / learning_rate(step, d_model, settings) - 1) for step, rate in recorded)
    agree = "rounding to six digits" if worst < SIX_DIGITS else "so it was not trained by this formula alone"
    return (
        f"{text} Of the {pluralize(len(recorded), 'rate')} that its run wrote down, none differs from the formula by "
        f"more than {format_error(worst)} of itself: {agree}."
    )


def _power_of_ten(value: float) -> str:
    number, exponent = f"{value:.2e}".split("e")
    return rf"{number} \cdot 10^{{{int(exponent)}}}"
