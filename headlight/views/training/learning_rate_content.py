"""Sentences and formulas on the learning rate, computed from the curves drawn."""

import math
from collections.abc import Sequence

import numpy as np

from headlight.plots.text import counted, scientific, tiny
from transformer.config import TrainingConfig
from transformer.training.optimization import Noam, learning_rate

EXACT = 1e-12  # rates that differ by less than this part of themselves are the same
SIX_DIGITS = 1e-5  # and these agree as far as a history writes them
FORMULA = (
    r"\begin{aligned} & rate(step) = factor \cdot d_{model}^{-0.5} \\ "
    r"& \quad \cdot \min\big(step^{-0.5},\; step \cdot warmup^{-1.5}\big) \end{aligned}"
)
PAPER = Noam(d_model=512, warmup_steps=4000)


def filled_formula(curve: Noam) -> str:
    """The formula of one curve with its numbers, in LaTeX."""
    return (
        rf"\begin{{aligned}} & rate(step) = {curve.factor:g} \cdot {curve.d_model}^{{-0.5}} \\ "
        rf"& \quad \cdot \min\big(step^{{-0.5}},\; step \cdot {curve.warmup_steps}^{{-1.5}}\big) \end{{aligned}}"
    )


def peak_formula(curves: Sequence[Noam]) -> str:
    """The closed form of each curve's peak with its numbers, in LaTeX."""
    lines = (
        rf"\text{{peak {place}}} &= {curve.factor:g} \cdot {curve.d_model}^{{-0.5}} \cdot {curve.warmup_steps}^{{-0.5}}"
        rf" \\ &= {_power_of_ten(curve.peak)}"
        for place, curve in enumerate(curves, start=1)
    )
    return r"\begin{aligned}" + r" \\[4pt] ".join(lines) + r"\end{aligned}"


def peak_rows(curves: Sequence[Noam], rates: Sequence[np.ndarray]) -> list[tuple[str, list[str]]]:
    """For each curve the step and height of its peak as drawn, the closed form, and how far they are apart."""
    rows = []
    for place, (curve, values) in enumerate(zip(curves, rates, strict=True), start=1):
        steps = [f"{values.argmax() + 1:,}", f"{curve.warmup_steps:,}"]
        heights = [scientific(values.max(), 5), scientific(curve.peak, 5), tiny(abs(values.max() - curve.peak))]
        rows.append((f"curve {place}", steps + heights))
    return rows


def describe_rates(curves: Sequence[Noam], rates: Sequence[np.ndarray], logarithmic: bool) -> str:
    """The two halves of the first curve by its numbers, and how each other one differs from it."""
    values = rates[0]
    peak = int(values.argmax()) + 1
    later = 4 * peak
    text = (
        f"Curve 1 rises until step {peak:,} and falls from there: at step {later:,}, four times as late, its rate is "
        f"{values[later - 1] / values[peak - 1]:.3g} of the peak."
    )
    if logarithmic:
        after = math.log(values[-1] / values[peak - 1]) / math.log(len(values) / peak)
        slopes = f"{after:+.2f} after it".replace("-", "−")
        if peak > 1:
            before = math.log(values[peak - 1] / values[0]) / math.log(peak)
            slopes = f"{before:+.2f} before the peak, {slopes}"
        text += f" On these axes both halves are straight lines, their slopes {slopes}: the powers in the formula."
    others = [_difference(place, curves, rates) for place in range(1, len(curves))]
    return " ".join([text, *others])


def try_rates(curves: Sequence[Noam], logarithmic: bool) -> str:
    """What would bring another curve's peak to the height of the first, or what twice the warm-up would do."""
    first = curves[0]
    lower = next((place for place, curve in enumerate(curves) if not math.isclose(curve.peak, first.peak)), None)
    if lower is not None:
        factor = curves[lower].factor * first.peak / curves[lower].peak
        text = f"factor {factor:.3g} for curve {lower + 1}: its peak is then as high as that of curve 1."
    else:
        peak = scientific(first.peak / math.sqrt(2))
        text = f"twice the warm-up for curve 1: its peak falls from {scientific(first.peak)} to {peak}."
    return text if logarithmic else f"{text} Or logarithmic axes, where both halves become straight lines."


def describe_trained(
    settings: TrainingConfig, d_model: int, recorded: Sequence[tuple[int, float]], kept_step: int | None = None
) -> str:
    """How high the checkpoint's own rate went, beside the paper's, how it ends, and whether its run wrote the same.

    kept_step: that of the weights, where it is known; a run may end before its schedule does.
    """
    last = settings.max_steps
    top_step = min(settings.warmup_steps, last)
    top, end = (learning_rate(step, d_model, settings) for step in (top_step, last))
    when = "At the end of its warm-up" if settings.warmup_steps <= last else "At its last step, still in the warm-up"
    text = (
        f"{when}, step {top_step:,}, the rate was {scientific(top)}: {top / PAPER.peak:.3g} times "
        f"the paper's peak, {scientific(PAPER.peak)} at step {PAPER.warmup_steps:,}."
    )
    if settings.schedule == "noam":
        text += f" Its d_model is {d_model} and its factor {settings.rate_factor:g}; the paper's are 512 and 1."
    if settings.cooldown_steps:
        text += (
            f" Over its last {settings.cooldown_steps:,} steps the schedule goes down to almost nothing, "
            f"{scientific(end)} at step {last:,}: a cool-down, which the paper does not have."
        )
    if kept_step is not None and kept_step < last:
        text += f" The weights kept are those of step {kept_step:,}."
    if not recorded:
        return f"{text} Its run wrote no rates down, so this is the formula alone."
    differences = [abs(rate / learning_rate(step, d_model, settings) - 1) for step, rate in recorded]
    worst = max(differences)
    agree = (
        "which is the rounding to six digits" if worst < SIX_DIGITS else "so it was not trained by this formula alone"
    )
    return (
        f"{text} Of the {counted(len(recorded), 'rate')} that its run wrote down, none differs from the formula by "
        f"more than {tiny(worst)} of itself, {agree}."
    )


def _difference(place: int, curves: Sequence[Noam], rates: Sequence[np.ndarray]) -> str:
    """How a curve differs from the first, in settings and in what is drawn."""
    first, curve = curves[0], curves[place]
    name = f"Curve {place + 1}"
    ratio = rates[place].max() / rates[0].max()
    higher = "its peak is as high" if math.isclose(ratio, 1) else f"its peak is {_times(ratio)} times as high"
    changed = [
        (noun, getattr(curve, key) / getattr(first, key))
        for key, noun in (("warmup_steps", "warm-up"), ("d_model", "d_model"), ("factor", "factor"))
        if getattr(curve, key) != getattr(first, key)
    ]
    if not changed:
        return f"{name} has the settings of curve 1 and lies on it."
    if len(changed) > 1:
        *most, last = (noun for noun, _ in changed)
        return f"{name} differs in {', '.join(most)} and {last}: {higher}."
    ((noun, ratio),) = changed
    text = f"{name} has {_times(ratio)} times the {noun} of curve 1: {higher}"
    if noun == "factor":
        return f"{text}."
    text += f", which is 1/√{_times(ratio)}"
    later = max(first.warmup_steps, curve.warmup_steps)
    if noun == "warm-up" and np.allclose(rates[0][later - 1 :], rates[place][later - 1 :], rtol=EXACT, atol=0):
        text += f", and from step {later:,} on the two are one: the second half knows nothing of the warm-up"
    return f"{text}."


def _times(ratio: float) -> str:
    """A ratio with three digits, or more where it would look like 1 and is not."""
    digits = 3
    while digits < 12 and float(f"{ratio:.{digits}g}") == 1 and not math.isclose(ratio, 1):
        digits += 1
    return f"{ratio:.{digits}g}"


def _power_of_ten(value: float) -> str:
    number, exponent = f"{value:.2e}".split("e")
    return rf"{number} \cdot 10^{{{int(exponent)}}}"
