"""The view on the learning rate: Noam curves of one's own, checked against the formula, and the checkpoint's."""

import math

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.app import results
from headlight.app.choices import any_number, one_of, slider
from headlight.app.figures import show_figure
from headlight.app.results import TranslationRequest
from headlight.app.widgets import plain, show_finding, show_table
from headlight.plots.training import AXES, rates_figure, trained_figure
from transformer import Translator, UserError
from transformer.training.optimization import Noam

from . import learning_rate_content as content

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
    st.latex(content.FORMULA)
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
    look, attempt = content.describe_rates(curves, rates, logarithmic), content.try_rates(curves[0], logarithmic)
    with drawing:
        show_figure(rates_figure(curves, rates, axes), "rates", alt, look)
    show_finding(look, attempt)
    table, formula = st.columns(2, gap="medium")
    with table:
        st.markdown("**Each peak: drawn, and by the formula**")
        header = ("at step", "warm-up", "drawn", "formula", "apart by")
        show_table("Each curve's peak: drawn, and by the formula", "", header, content.peak_rows(curves, rates))
        st.caption(f"Drawn: the highest rate of all {last:,} steps. By the formula the halves meet at step = warm-up.")
    with formula:
        st.markdown("**The formula with the numbers of curve 1**, and every peak")
        st.latex(content.filled_formula(curves[0]))
        st.latex(content.peak_formula(curves))


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
    look = content.describe_trained(settings, config.d_model, recorded, kept if type(kept) is int else None)
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
