"""How sure the model is, how often right, and what label smoothing has to do with it."""

import streamlit as st

import session
from transformer.evaluation import Confidence, concatenate
from transformer.experiments.label_smoothing import Smoothing, SmoothingForm
from ui.sidebar import Choice
from ui.widgets import plain

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
        "reference is fed, and the **favourite**, the most probable next piece, is compared with the reference's."
    )
    for column, title, figure in zip(
        st.columns(2),
        ("How sure it is", "How sure, and how right"),
        (histogram_figure(measured, reachable), calibration_figure(measured)),
        strict=True,
    ):
        with column:
            st.markdown(f"**{title}**")
            st.plotly_chart(figure, key=title, alt=title)
    st.info(plain(describe_confidence(measured, epsilon, reachable)), icon=":material/search:")
    st.info(
        "Try the other checkpoints, and compare with “label smoothing” on the page Training, where the least of the "
        "loss "
        "is computed.",
        icon=":material/science:",
    )


def _measure(checkpoint: str) -> Confidence:
    """Part by part, each kept once it is there, so that leaving the page stops it."""
    progress, parts = st.progress(0.0, "Reading the sentence pairs …"), []
    for part in range(_PARTS):
        parts.append(session.confidence(checkpoint, part, _PARTS))
        progress.progress((part + 1) / _PARTS, "Reading the sentence pairs …")
    progress.empty()
    return concatenate(parts)
