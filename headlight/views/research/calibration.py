"""Calibration: confidence and correctness over the checkpoint's sentence pairs."""

import streamlit as st

from headlight.app import bar, results
from headlight.app.line import part_by_part
from headlight.app.results import CheckpointFiles, TranslationRequest, measures
from headlight.app.widgets import (
    Panel,
    show_finding,
    show_panels,
)
from headlight.plots.decoding import (
    calibration_figure,
    histogram_figure,
)
from headlight.views.research.logits_content import (
    describe_confidence,
)
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
        "The sentence pairs that come with this checkpoint, on none of which it was trained: the reference is fed, and "
        "the **top-1 prediction**, the most probable next token, is compared with the reference's."
    )
    see = describe_confidence(measured, smoothing)
    show_panels(
        f"{request.checkpoint.name} on its sentence pairs",
        Panel("Confidence", histogram_figure(measured, smoothing.right if smoothing and smoothing.epsilon else None)),
        Panel("Calibration: how sure, and how right", calibration_figure(measured)),
        see=see,
    )
    show_finding(see, "the other checkpoints, and “recipe” on the page Training.")


def _measure(checkpoint: CheckpointFiles) -> Confidence:
    """Measure part by part, each cached once it is there, so that leaving the page stops it."""
    count = min(_PARTS, len(results.samples(checkpoint)))
    words = "Reading the sentence pairs …"
    return concatenate(part_by_part(range(count), lambda part: measures.confidence(checkpoint, part, count), words))
