"""Calibration: confidence and correctness over the checkpoint's sentence pairs."""

import streamlit as st

import headlight.plots as plots
from headlight.app import bar, results
from headlight.app.finding import Finding
from headlight.app.model_queue import part_by_part
from headlight.app.results import CheckpointFiles, TranslationRequest, measures
from headlight.app.widgets import Panel, show_finding, show_panels
from headlight.plots.numbers import format_probability, percent, pluralize
from transformer.evaluation import Confidence, concatenate
from transformer.experiments.training import Smoothing

_PARTS = 8


def show(request: TranslationRequest) -> None:
    """Show how sure the model is and how often right, over the checkpoint's sentence pairs. Raises UserError."""
    bar.hide_sentence()
    translator = results.translator(request.checkpoint)
    settings = translator.checkpoint.settings("label_smoothing")
    smoothing = None
    if settings is not None:
        smoothing = Smoothing(settings.label_smoothing, translator.model.config.output_size)
    measured = _measure(request.checkpoint)
    st.markdown(
        "How sure is the model, and how often is it right? It reads the start of a reference translation that it was "
        "not trained on; its **top-1 prediction** is compared with the next token."
    )
    see = describe_confidence(measured, smoothing)
    best = smoothing.right if smoothing and smoothing.epsilon else None
    show_panels(
        f"{request.checkpoint.name} on its sentence pairs",
        Panel("Confidence", plots.confidence_histogram(measured, best, theme="page")),
        Panel("Calibration: how sure, and how right", plots.calibration(measured, theme="page")),
        see=see,
    )
    show_finding(see)


def _measure(checkpoint: CheckpointFiles) -> Confidence:
    """Measure part by part, each cached once it is there, so that leaving the page stops it."""
    count = min(_PARTS, len(results.samples(checkpoint)))
    words = "Reading the sentence pairs …"
    return concatenate(part_by_part(range(count), lambda part: measures.confidence(checkpoint, part, count), words))


def describe_confidence(measured: Confidence, smoothing: Smoothing | None) -> Finding:
    """Say how sure and how right the top-1 prediction is, and how that compares with what label smoothing asks for."""
    right, count = percent(measured.right.mean()), pluralize(len(measured.best), "token")
    headline = f"The top-1 prediction is right in {right} of {count}."
    sure = f"Its mean probability is {percent(measured.best.mean())}."
    if smoothing is None or not smoothing.epsilon:
        return Finding(headline, sure)
    above = percent((measured.best > smoothing.right).mean())
    return Finding(
        headline,
        f"{sure} Trained with label smoothing ε = {smoothing.epsilon:g}, the loss of a right token is least at "
        f"{format_probability(smoothing.right)}, above which {above} of the tokens lie.",
    )
