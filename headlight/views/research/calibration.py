"""Calibration: confidence and correctness over the checkpoint's sentence pairs."""

from functools import partial

import streamlit as st

import headlight.plots as plots
from headlight.app import bar, results
from headlight.app.finding import Finding, Templates
from headlight.app.model_queue import part_by_part
from headlight.app.results import CheckpointFiles, TranslationRequest
from headlight.app.widgets import Panel, show_finding, show_panels
from transformer.evaluation import Confidence, concatenate, measure_confidence
from transformer.experiments.training import Smoothing

_PARTS = 8
TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest) -> None:
    """Show how sure the model is and how often right, over the checkpoint's sentence pairs. Raises UserError."""
    bar.hide_sentence()
    translator = results.translator(request.checkpoint)
    settings = translator.checkpoint.settings("label_smoothing")
    smoothing = None
    if settings is not None:
        smoothing = Smoothing(settings.label_smoothing, translator.model.config.output_size)
    measured = _measure(request.checkpoint)
    st.markdown(TEMPLATES.text("intro"))
    see = describe_confidence(measured, smoothing)
    best = smoothing.right if smoothing and smoothing.epsilon else None
    show_panels(
        TEMPLATES.text("alt", checkpoint=request.checkpoint.name),
        Panel(TEMPLATES.text("confidence"), plots.confidence_histogram(measured, best, theme="page")),
        Panel(TEMPLATES.text("calibration"), plots.calibration(measured, theme="page")),
        see=see,
    )
    show_finding(see)


def _measure(checkpoint: CheckpointFiles) -> Confidence:
    """Measure part by part, each cached once it is there, so that leaving the page stops it."""
    count = min(_PARTS, len(results.samples(checkpoint)))
    compute = partial(_confidence, checkpoint, parts=count)
    return concatenate(part_by_part(range(count), compute, TEMPLATES.text("reading")))


@results.cached(max_entries=64, show_spinner=False)
def _confidence(checkpoint: CheckpointFiles, part: int, parts: int) -> Confidence:
    """Return the confidence and accuracy of the model on one of so many parts of its sentence pairs, from 0."""
    return measure_confidence(results.translator(checkpoint).model, results.samples(checkpoint)[part::parts])


def describe_confidence(measured: Confidence, smoothing: Smoothing | None) -> Finding:
    """Return accuracy and confidence of the top-1 prediction, and the part of it above the optimum of smoothing."""
    finding = TEMPLATES("right", right=measured.right.mean(), tokens=len(measured.best)).followed_by(
        TEMPLATES("mean", mean=measured.best.mean())
    )
    if smoothing is None or not smoothing.epsilon:
        return finding
    above = (measured.best > smoothing.right).mean()
    return finding.followed_by(TEMPLATES("smoothing", epsilon=smoothing.epsilon, least=smoothing.right, above=above))
