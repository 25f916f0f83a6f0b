"""The view on the learning rate: Noam curves of one's own, checked against the formula, and the checkpoint's."""

import math
from collections.abc import Sequence

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.app import results
from headlight.app.choices import any_number, one_of, slider
from headlight.app.results import TranslationRequest
from headlight.app.widgets import plain, show_figure, show_finding, show_table
from headlight.plots.text import Finding, format_error, pluralize, scientific
from headlight.plots.training import AXES, PAPER, rates_figure, trained_figure
from transformer import Translator, UserError
from transformer.config import TrainingConfig
from transformer.training.optimization import Noam, learning_rate

SIX_DIGITS = 1e-5  # rates that differ by less than this part of themselves agree as far as a history writes them
FORMULA = (
    r"\begin{aligned} & rate(step) = factor \cdot d_{model}^{-0.5} \\ "
    r"& \quad \cdot \min\big(step^{-0.5},\; step \cdot warmup^{-1.5}\big) \end{aligned}"
)


MOST_CURVES = 4
SHOWN = 5  # times the longest warm-up: the fall needs room
MOST_STEPS = 10_000_000  # of a checkpoint's training that are drawn
WIDTHS = (132, 112, 88)  # pixels: a row of boxes fits a phone


def show(request: TranslationRequest) -> None:
    """Show the curves with their peaks, then what this checkpoint was trained with."""
    st.subheader("The learning rate over the steps of training")
    st.markdown(
        "At every step Adam moves each weight against a running mean of its gradient over the root of that of its "
        "square; the rate says how far. The paper's (Vaswani et al. 2017, equation 3) rises in a straight line over "
        "the warm-up, then falls with the root of the step, whatever the warm-up was:"
    )
    st.latex(FORMULA)
    with st.container(horizontal=True, gap="medium"):
        count = slider("Number of curves", 1, MOST_CURVES, "curves", width=220)
        axes = one_of("Axes", AXES, "axes")
    settings, drawing = st.columns((2, 3), gap="medium")
    with settings:
        typed = [_boxes(number) for number in range(1, count + 1)]
    try:
        curves = [_curve(number, *values) for number, values in enumerate(typed, start=1)]
    except UserError as error:
        drawing.warning(plain(str(error)), icon=":material/edit:")
    else:
        _show_curves(curves, axes, drawing)
    st.subheader(f"The rate that {plain(request.checkpoint.name)} was trained with")
    _show_trained(results.translator(request.checkpoint), axes)


def _boxes(number: int) -> tuple[float, float, float]:
    """Return a curve's d_model, warm-up and factor; a box for whole numbers would break on a link with "inf"."""
    wide, middle, narrow = WIDTHS
    with st.container(horizontal=True, gap="xsmall"):
        d_model = any_number(f"Curve {number}: d_model", f"d_model{number}", 2.0, wide)
        warmup = any_number("warm-up", f"warmup{number}", 500.0, middle)
        factor = any_number("factor", f"factor{number}", 0.1, narrow)
    return d_model, warmup, factor


def _curve(number: int, d_model: float, warmup: float, factor: float) -> Noam:
    try:
        return Noam(_whole(d_model), _whole(warmup), factor)
    except UserError as error:
        raise type(error)(f"Curve {number} cannot be drawn. {error}") from error


def _whole(value: float) -> int:
    """Return a whole number as such; another as it is, to be refused."""
    return int(value) if value.is_integer() else value  # type: ignore[return-value]


def _show_curves(curves: list[Noam], axes: str, drawing: DeltaGenerator) -> None:
    """Show the figure beside the boxes; below, what to look for, and each peak against its closed form."""
    last = SHOWN * max(curve.warmup_steps for curve in curves)
    rates = [curve.rates(last) for curve in curves]
    alt = f"The rate over {last:,} steps: {len(curves)} Noam curves"
    logarithmic = axes == AXES[1]
    look = describe_rates(curves, rates, logarithmic=logarithmic)
    with drawing:
        show_figure(rates_figure(curves, rates, axes), "rates", alt, look)
    bent = "" if logarithmic else " Then logarithmic axes: what becomes of both halves?"
    show_finding(look, f"twice the warm-up for curve 1: by how much does its peak fall?{bent}")
    table, formula = st.container(key="peaks").columns(2, gap="medium")
    with table:
        st.markdown("**Each peak: drawn, and by the formula**")
        header = ("at step", "warm-up", "drawn", "formula", "apart by")
        show_table("Each curve's peak: drawn, and by the formula", "", header, peak_rows(curves, rates))
        st.caption(f"Drawn: the highest rate of all {last:,} steps. By the formula the halves meet at step = warm-up.")
    with formula:
        st.markdown("**The formula with the numbers of curve 1**, and every peak")
        st.latex(filled_formula(curves[0]))
        st.latex(peak_formula(curves))


def _show_trained(translator: Translator, axes: str) -> None:
    """Show the checkpoint's own schedule, from its training.json. Raises UserError for an invalid one."""
    checkpoint, config = translator.checkpoint, translator.model.config
    settings = checkpoint.settings("schedule", "warmup_steps", "rate_factor", "cooldown_steps", "max_steps")
    if settings is None or settings.max_steps > MOST_STEPS:
        st.info("Its training.json does not say with which rate it was trained.", icon=":material/help:")
        return
    Noam(config.d_model, settings.warmup_steps, settings.rate_factor)
    recorded = [
        (int(row["step"]), row["rate"])
        for row in checkpoint.history
        if {"step", "rate"} <= row.keys()
        and all(map(math.isfinite, (row["step"], row["rate"])))
        and 1 <= row["step"] <= settings.max_steps
    ]
    alt = f"The rate of this checkpoint over its {settings.max_steps:,} steps, beside the paper's"
    kept = checkpoint.training.get("steps")
    look = describe_trained(settings, config.d_model, recorded, kept if type(kept) is int else None)
    show_figure(trained_figure(settings, config.d_model, recorded, axes), "trained_rate", alt, look)
    show_finding(look)
    st.markdown(
        "**Why a warm-up?** The paper does not say. Offered since: Adam's running estimate rests on few gradients at "
        "first, and so varies much ([Liu et al. 2020](https://arxiv.org/abs/1908.03265)); a post-norm Transformer, "
        "such as the paper's, has large gradients near the output at the start, and pre-norm ones could be trained "
        "without a warm-up ([Xiong et al. 2020](https://arxiv.org/abs/2002.04745)); yet unbalanced gradients were "
        "found not to be the root cause of post-norm's instability ([Liu et al. 2020, "
        f"Admin](https://arxiv.org/abs/2004.08249)). This checkpoint is {config.norm}-norm."
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


def describe_rates(curves: Sequence[Noam], rates: Sequence[np.ndarray], *, logarithmic: bool) -> Finding:
    """Describe the two halves of the first curve by its numbers, and how each other one differs from it."""
    values = rates[0]
    peak = int(values.argmax()) + 1
    later = values[4 * peak - 1] / values[peak - 1]
    text = f"At step {4 * peak:,}, four times as late, its rate is {later:.3g} of that."
    if logarithmic:
        text += " On these axes both halves are straight lines with slopes 1 and −0.5, the powers in the formula."
    more = " ".join([text, *(_difference(index, curves, rates) for index in range(1, len(curves)))])
    return Finding(f"Curve 1 peaks at step {peak:,} with {scientific(values[peak - 1])}.", more)


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


def describe_trained(
    settings: TrainingConfig, d_model: int, recorded: Sequence[tuple[int, float]], kept_step: int | None = None
) -> Finding:
    """Say how high the checkpoint's own rate went, beside the paper's, how it ends, and whether its run wrote the same.

    kept_step: that of the weights, if known; a run may end before its schedule does.
    """
    last = settings.max_steps
    top_step = min(settings.warmup_steps, last)
    top, end = (learning_rate(step, d_model, settings) for step in (top_step, last))
    times, peak = f"{top / PAPER.peak:.3g}", f"{scientific(PAPER.peak)} at step {PAPER.warmup_steps:,}"
    text = f"That is {times} times the paper's peak, {peak}."
    if settings.cooldown_steps:
        text += f" Over its last {settings.cooldown_steps:,} steps it cools down to {scientific(end)} at step {last:,}."
    if kept_step is not None and kept_step < last:
        text += f" The weights kept are those of step {kept_step:,}."
    return Finding(
        f"After {pluralize(top_step, 'step')} of warm-up the rate was {scientific(top)}.",
        f"{text} {_agreement(settings, d_model, recorded)}",
    )


def _agreement(settings: TrainingConfig, d_model: int, recorded: Sequence[tuple[int, float]]) -> str:
    """Say how far the rates that a run wrote down are from the formula."""
    compared = [(step, rate) for step, rate in recorded if 0 < step <= settings.max_steps]  # the schedule has no others
    if not compared:
        return "Its run wrote no rates down, so this is the formula alone."
    worst = max(abs(rate / learning_rate(step, d_model, settings) - 1) for step, rate in compared)
    agree = "rounding to six digits" if worst < SIX_DIGITS else "so it was not trained by this formula alone"
    return (
        f"Of the {pluralize(len(compared), 'rate')} that its run wrote down, the farthest from the formula differs by "
        f"{format_error(worst)} of itself: {agree}."
    )


def _power_of_ten(value: float) -> str:
    number, exponent = f"{value:.2e}".split("e")
    return rf"{number} \cdot 10^{{{int(exponent)}}}"
