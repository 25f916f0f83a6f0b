"""Sentences and formulas on label smoothing, computed from its two forms and from a checkpoint's own."""

from collections.abc import Sequence

from headlight.plots.label_smoothing import MEASURES
from headlight.plots.text import format_error, pluralize, quoted
from transformer.experiments.training import Smoothing, SmoothingForm
from transformer.interpret.trace import Trace

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
TRY_CLASSES = "other numbers of classes: the fewer there are, the farther apart the two forms."
TRY_MEASURE = (
    "the other measure: the cross-entropy's minima lie at the entropies of the targets, those of the KL divergence at "
    "0. And ε = 0: the least loss is at the right edge."
)


def describe_targets(over_all: Smoothing, over_others: Smoothing) -> str:
    """Say what the right class, the others and padding get in either form."""
    return (
        f"Of the right class's mass ε = {over_all.epsilon:g} is taken. Spread over all {over_all.classes} classes, the "
        f"right one keeps {_mass(over_all.right)} and each other gets {_mass(over_all.wrong)}, padding too, though it "
        f"is never right. In the other form it keeps {_mass(over_others.right)}, each of the {over_others.others} "
        f"others gets {_mass(over_others.wrong)}, padding nothing. The row of padding is blank: nothing is trained "
        "there."
    )


def describe_losses(over_all: Smoothing, over_others: Smoothing) -> str:
    """Say where the loss is least in either form, and what more certainty costs."""
    best, least = over_all.find_minimum()
    other, other_least = over_others.find_minimum()
    return (
        f"With ε = {over_all.epsilon:g} the loss is least at p = {best:.3f} when spread over all classes, at "
        f"{other:.3f} in the other form; beyond that more certainty costs. At p = {VERY_SURE} the cross-entropy is "
        f"{over_all.cross_entropy(VERY_SURE):.3f} and {over_others.cross_entropy(VERY_SURE):.3f} instead of "
        f"{least:.3f} and {other_least:.3f}, the targets' entropies, which the KL divergence leaves out."
    )


def minimum_rows(smoothings: Sequence[Smoothing], measure: str) -> list[tuple[str, list[str]]]:
    """Return for each epsilon the best p and the least loss: in closed form, and as a search finds them."""
    rows = []
    for smoothing in smoothings:
        best, least = smoothing.find_minimum()
        floor = 0.0 if measure == MEASURES[0] else smoothing.entropy
        texts = (smoothing.right, best, smoothing.entropy - floor, least - floor)
        rows.append((f"ε {smoothing.epsilon:g}", [f"{value:.6f}".removeprefix("-") for value in texts]))
    return rows


def describe_check(smoothings: Sequence[Smoothing]) -> str:
    """Say how far closed form and search are apart at most."""
    found = [smoothing.find_minimum() for smoothing in smoothings]
    at = max(abs(best - s.right) for (best, _), s in zip(found, smoothings, strict=True))
    value = max(abs(least - s.entropy) for (_, least), s in zip(found, smoothings, strict=True))
    return f"Apart by at most {format_error(at)} in p and {format_error(value)} in the loss."


def describe_checkpoint(own: Smoothing, other: Smoothing, last_loss: float | None) -> str:
    """Say what the checkpoint was trained towards, in its own form and beside the other, and the floor of its loss."""
    reached = "" if last_loss is None else f"; at the end of training it was {last_loss:.3f}"
    return (
        f"Trained with ε = {own.epsilon:g} spread over all {own.classes:,} classes, PyTorch's form, this checkpoint "
        f"has its least loss where the right token gets {own.right:.4f} (in the other form, "
        f"{format_error(abs(own.right - other.right))} less). No training loss goes below {own.entropy:.3f} nats per "
        f"token, the target's entropy{reached}."
    )


def describe_confidence(trace: Trace, own: Smoothing) -> str:
    """Say how sure the model was of the steps of this sentence, beside the probability that its loss asks for."""
    values = trace.target_probabilities
    surest, sure = int(values.argmax()), values[values > SURE]
    mean = f"; the mean of the {len(sure)} above {SURE} is {sure.mean():.3f}" if len(sure) else ""
    return (
        f"The surest of {pluralize(len(values), 'step')} is {quoted(trace.target_tokens[surest])} with "
        f"{values[surest]:.4f}. Above {own.right:.4f}, where the loss is least for a token that is right beyond doubt, "
        f"lie {int((values > own.right).sum())} of {len(values)}{mean}. Look for how close to that line the sure steps "
        "are: it is no bound."
    )


def _mass(mass: float) -> str:
    return f"{mass:.4f}".rstrip("0").rstrip(".")
