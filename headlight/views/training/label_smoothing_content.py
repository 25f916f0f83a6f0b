"""Sentences and formulas on label smoothing, computed from its two forms and from a checkpoint's own."""

import math
from collections.abc import Sequence

import numpy as np

from headlight.plots.text import counted, quoted, tiny
from transformer.experiments.label_smoothing import Smoothing, SmoothingForm
from transformer.interpret.trace import Trace

from .label_smoothing_figure import MEASURES

FORMULAS = {
    SmoothingForm.ALL: r"q_k = \begin{cases} 1 - \varepsilon + \varepsilon / V & k \text{ is right} \\ "
    r"\varepsilon / V & k \text{ is padding} \\ \varepsilon / V & \text{else} \end{cases}",
    SmoothingForm.OTHERS: r"q_k = \begin{cases} 1 - \varepsilon & k \text{ is right} \\ 0 & k \text{ is padding} \\ "
    r"\varepsilon / (V - 2) & \text{else} \end{cases}",
}
LOSSES = (
    r"\begin{aligned} \text{cross-entropy} &= -\textstyle\sum_k q_k \ln p_k \\ "
    r"\text{KL divergence} &= \textstyle\sum_k q_k \ln (q_k / p_k) \end{aligned}"
)
SURE, VERY_SURE = 0.8, 0.999


def describe_targets(over_all: Smoothing, over_others: Smoothing) -> str:
    """What the right class, the others and padding get in either form."""
    if not over_all.epsilon:
        return "With ε = 0 nothing is smoothed, both forms are the same: the right class has 1, all others have 0."
    text = (
        f"Of the right class's mass ε = {over_all.epsilon:g} is taken. Spread over all {over_all.classes} classes, "
        f"{_mass(over_all.wrong)} falls back on it, so it keeps {_mass(over_all.right)}, and padding gets "
        f"{_mass(over_all.wrong)}, though it is never the right class. In the other form it keeps "
        f"{_mass(over_others.right)}, each of the {over_others.others} others gets {_mass(over_others.wrong)}, padding "
        "nothing. "
    )
    beaten = [s.form for s in (over_all, over_others) if s.right < s.wrong and not math.isclose(s.right, s.wrong)]
    if beaten:
        text += f"So much is taken that a wrong class now has more than the right one (spread over {beaten[0]}). "
    return text + "The row of padding is blank: nothing is trained there."


def try_targets(smoothing: Smoothing, most_classes: int) -> str:
    """What would tell the two forms better apart, or make them more alike."""
    if not smoothing.epsilon:
        return "ε = 0.1, the paper's: some mass goes elsewhere, and the two forms part."
    if smoothing.classes < most_classes:
        return f"{most_classes} classes: the more there are, the more alike the two forms."
    return "4 classes: the fewer there are, the farther apart the two forms."


def try_losses(smoothing: Smoothing, measure: str) -> str:
    """The other measure, and the other end of epsilon."""
    other = MEASURES[1 - MEASURES.index(measure)]
    minima = "all minima lie at 0" if other == MEASURES[1] else "the minima lie at the entropies of the targets"
    words = f"{other}: there {minima}"
    return f"{words}. Or ε = 0, where the least is at the right edge." if smoothing.epsilon else f"{words}."


def describe_losses(over_all: Smoothing, over_others: Smoothing) -> str:
    """Where the loss is least in either form, what more certainty costs, and what the divergence leaves out."""
    best, least = over_all.find_minimum()
    if not over_all.epsilon:
        return (
            f"With ε = 0 the loss is −ln p: the surer, the better, least at p = {best:.3f}. Move ε, and the best p "
            "comes down from 1."
        )
    other, other_least = over_others.find_minimum()
    return (
        f"With ε = {over_all.epsilon:g} the best p is not 1: the loss is least at {best:.3f} when spread over all "
        f"classes, at {other:.3f} in the other form, and beyond that more certainty costs. At p = {VERY_SURE} the "
        f"cross-entropy is {over_all.cross_entropy(VERY_SURE):.3f} and {over_others.cross_entropy(VERY_SURE):.3f} "
        f"instead of {least:.3f} and {other_least:.3f}. That least value is the entropy of the target; the KL "
        "divergence is the cross-entropy without it, so its least is 0, and the best p is the same."
    )


def minimum_rows(smoothings: Sequence[Smoothing], measure: str) -> list[tuple[str, list[str]]]:
    """For each epsilon the best p and the least loss: in closed form, and as a search of the curve found them."""
    rows = []
    for smoothing in smoothings:
        best, least = smoothing.find_minimum()
        floor = 0.0 if measure == MEASURES[0] else smoothing.entropy
        texts = (smoothing.right, best, smoothing.entropy - floor, least - floor)
        rows.append((f"ε {smoothing.epsilon:g}", [f"{value:.6f}".removeprefix("-") for value in texts]))
    return rows


def describe_check(smoothings: Sequence[Smoothing]) -> str:
    """How far closed form and search are apart at most."""
    found = [smoothing.find_minimum() for smoothing in smoothings]
    place = max(abs(best - s.right) for (best, _), s in zip(found, smoothings, strict=True))
    value = max(abs(least - s.entropy) for (_, least), s in zip(found, smoothings, strict=True))
    return f"Apart by at most {tiny(place)} in p and {tiny(value)} in the loss."


def describe_checkpoint(own: Smoothing, other: Smoothing, last_loss: float | None) -> str:
    """What the checkpoint was trained towards, in its own form and beside the other, and the floor under its loss."""
    if not own.epsilon:
        return "This checkpoint was trained without label smoothing: its loss is least where the right token gets 1."
    text = (
        f"This checkpoint was trained with ε = {own.epsilon:g} spread over all {own.classes:,} classes, PyTorch's "
        f"form: its loss is least where the right token gets {own.right:.4f}. Of so many classes the other form "
        f"would differ by {tiny(abs(own.right - other.right))} there. No model could have brought the training loss "
        f"below {own.entropy:.3f} nats a token, the entropy of that target"
    )
    return f"{text}." if last_loss is None else f"{text}; at the end of training it was {last_loss:.3f}."


def describe_confidence(trace: Trace, own: Smoothing) -> str:
    """How sure the model was of the steps of this sentence, beside the probability that its loss asks for."""
    values = trace.next_probabilities
    surest = int(values.argmax())
    above = int((values > own.right).sum())
    text = (
        f"In this sentence the surest of {counted(len(values), 'step')} is {quoted(trace.next_tokens[surest])} with "
        f"{values[surest]:.4f}, {_beside(float(values[surest]), own.right)}; "
        f"{above} of {len(values)} {'is' if above == 1 else 'are'} above {own.right:.4f}. "
    )
    sure = values[values > SURE]
    if len(sure):
        text += f"The mean of those above {SURE}, {len(sure)} of {len(values)}, is {_mean(sure)}. "
    return text + (
        "The line is no bound for a single step: it is where the loss is least for a token that is right beyond doubt. "
        "Look for how close to it the sure steps are."
    )


def _beside(value: float, other: float) -> str:
    """How far a value is above or below another, to the digits of both."""
    difference = round(value, 4) - round(other, 4)
    if not round(difference, 4):
        return f"to four decimals the {other:.4f} that the loss asks for"
    return f"{abs(difference):.4f} {'above' if difference > 0 else 'below'} {other:.4f}"


def _mean(sure: np.ndarray) -> str:
    mean = float(sure.mean())
    return "over 0.999" if 0.9995 <= mean < 1 else f"{mean:.3f}"


def _mass(mass: float) -> str:
    return f"{mass:.4f}".rstrip("0").rstrip(".")
