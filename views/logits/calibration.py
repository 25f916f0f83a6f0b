"""The view on calibration: how sure the model is, how often right, and what label smoothing has to do with it."""

import streamlit as st

import session
from session import CheckpointFiles, Choice
from transformer.evaluation import Confidence, concatenate
from transformer.experiments.label_smoothing import Smoothing, SmoothingForm
from ui.widgets import Panel, plain, show_attempt, show_finding, show_panels

from .calibration_figure import calibration_figure, histogram_figure
from .text import describe_confidence

_PARTS = 8


def show(choice: Choice) -> None:
    """Both figures over the pairs that come with the checkpoint. Raises UserError."""
    translator = session.translator(choice.checkpoint)
    settings = translator.checkpoint.settings("label_smoothing")
    epsilon = settings.label_smoothing if settings else None
    reachable = Smoothing(SmoothingForm.ALL, epsilon, translator.model.config.vocab_size).right if epsilon else None
    measured = _measure(choice.checkpoint)
    st.markdown(
        "Every target token of the sentence pairs that come with this checkpoint, none of which it was trained on: the "
        "reference is fed, and the **top-1 prediction**, the most probable next piece, is compared with the "
        "reference's."
    )
    show_panels(
        f"{plain(choice.checkpoint.name)} on its sentence pairs",
        Panel("How sure it is", histogram_figure(measured, reachable)),
        Panel("Calibration: how sure, and how right", calibration_figure(measured)),
    )
    show_finding(describe_confidence(measured, epsilon, reachable))
    show_attempt(
        "Try the other checkpoints, and compare with “label smoothing” on the page Training, where the least of the "
        "loss is computed."
    )


def _measure(checkpoint: CheckpointFiles) -> Confidence:
    """Part by part, each kept once it is there, so that leaving the page stops it."""
    progress, parts = st.progress(0.0, "Reading the sentence pairs …"), []
    for part in range(_PARTS):
        parts.append(session.confidence(checkpoint, part, _PARTS))
        progress.progress((part + 1) / _PARTS, "Reading the sentence pairs …")
    progress.empty()
    return concatenate(parts)
