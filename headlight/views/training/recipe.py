"""The recipe of the paper: the learning rate's schedule and label smoothing, as this checkpoint was trained."""

import math

import streamlit as st

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import slider
from headlight.app.finding import Finding, Templates
from headlight.app.results import TranslationRequest
from headlight.app.widgets import show_figure, show_finding, show_result
from headlight.plots.training import PAPER
from transformer.config import TrainingConfig
from transformer.experiments.training import Smoothing
from transformer.training import learning_rate, noam_rate
from transformer.translator import Translator

RATE = r"rate = factor \cdot d_{model}^{-0.5} \cdot \min\big(step^{-0.5},\; step \cdot warmup^{-1.5}\big)"
TARGET = r"q_{right} = 1 - \varepsilon + \tfrac{\varepsilon}{V}, \quad q_{other} = \tfrac{\varepsilon}{V}"
EPSILONS = (0.0, 0.1, 0.3)  # drawn beside the chosen one
MOST_STEPS = 10_000_000  # of a training that is drawn
NEEDED = ("schedule", "warmup_steps", "rate_factor", "cooldown_steps", "max_steps")

TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest) -> None:
    """Show the learning rate of this checkpoint's training, and the smoothed loss. Raises UserError."""
    translator = results.translator(request.checkpoint)
    rate, smoothing = st.columns(2, gap="large")
    with rate:
        st.subheader("Learning rate: first up, then down")
        st.markdown("An update changes every weight a little. The learning rate says how far (paper, section 5.3):")
        st.latex(RATE)
        _show_rate(translator)
    with smoothing:
        st.subheader("Label smoothing: never quite certain")
        st.markdown("The training target leaves a little probability, ε, to the wrong tokens (paper, section 5.4):")
        st.latex(TARGET)
        _show_smoothing(translator)


def _show_rate(translator: Translator) -> None:
    checkpoint, d_model = translator.checkpoint, translator.model.config.d_model
    settings = checkpoint.settings(*NEEDED)
    if settings is None or settings.max_steps > MOST_STEPS:
        st.info("Its training.json does not name the learning rate of this checkpoint.", icon=":material/help:")
        return
    alt = f"Learning rate of this checkpoint over {settings.max_steps:,} steps, beside the paper's"
    figure = plots.learning_rates(settings, d_model, recorded_rates(translator), theme="page")
    show_result(figure, "rates", alt, describe_rate(settings, d_model))


def recorded_rates(translator: Translator) -> list[tuple[int, float]]:
    """Return the (step, rate) pairs that the training recorded, without those that no step has."""
    rows = [(row.get("step", math.nan), row.get("rate", math.nan)) for row in translator.checkpoint.history]
    return [(int(step), rate) for step, rate in rows if math.isfinite(step) and math.isfinite(rate) and step >= 1]


def describe_rate(settings: TrainingConfig, d_model: int) -> Finding:
    """Describe the peak of the checkpoint's rate, its end, and the paper's peak."""
    last = settings.max_steps
    top_step = min(settings.warmup_steps, last)
    top, end = (learning_rate(step, d_model, settings) for step in (top_step, last))
    width, warmup = PAPER
    paper = noam_rate(warmup, width, warmup)
    numbers = {"ratio": top / paper, "paper": paper, "warmup": warmup, "last": last, "end": end}
    return TEMPLATES("rises", steps=top_step, top=top).followed_by(TEMPLATES("end", **numbers))


def _show_smoothing(translator: Translator) -> None:
    epsilon = slider("ε, the probability given away", 0.0, 0.9, "epsilon", 0.1)
    classes = translator.model.config.output_size
    drawn = [Smoothing(each, classes) for each in sorted({*EPSILONS, epsilon})]
    finding = describe_smoothing(Smoothing(epsilon, classes))
    alt = f"Loss over the probability of the right token, for ε = {epsilon:g} and others"
    show_figure(plots.smoothed_loss(drawn, epsilon, theme="page"), "smoothed_loss", alt, finding)
    settings = translator.checkpoint.settings("label_smoothing")
    show_finding(finding.followed_by(TEMPLATES("trained", epsilon=settings.label_smoothing) if settings else None))


def describe_smoothing(smoothing: Smoothing) -> Finding:
    """Return the probability at which the loss is least, and the loss that remains there."""
    if not smoothing.epsilon:
        return TEMPLATES("no_smoothing").followed_by(TEMPLATES("least_at_1"))
    least = {"classes": smoothing.classes, "right": smoothing.right, "entropy": smoothing.entropy}
    return TEMPLATES("smoothing", right=smoothing.right).followed_by(TEMPLATES("least", **least))
