"""The view on label smoothing: the target in both forms in use, its loss, and what it left in the loaded model."""

import math

import streamlit as st

from headlight.app import results
from headlight.app.choices import one_of, slider
from headlight.app.figures import show_figure
from headlight.app.results import TranslationRequest
from headlight.app.widgets import phone_container, plain, show_finding, show_table
from headlight.plots.decoding import confidence_figure
from headlight.plots.label_smoothing import MEASURES, WORDS, loss_figure, targets_figure
from transformer import Translator
from transformer.experiments.training import Smoothing, SmoothingForm

from . import label_smoothing_content as content

EPSILONS = (0.0, 0.1, 0.2, 0.4)  # always drawn, beside the chosen one
TITLES = {
    SmoothingForm.ALL: "Spread over all classes",
    SmoothingForm.OTHERS: "Spread over all but the target and padding",
}
WHOSE = {
    SmoothingForm.ALL: "Szegedy et al. 2016, and PyTorch's `CrossEntropyLoss(label_smoothing=ε)`. Headlight's own "
    "training uses it.",
    SmoothingForm.OTHERS: "The Annotated Transformer's `LabelSmoothing`, which measures the KL divergence.",
}


def show(request: TranslationRequest) -> None:
    """Show targets, losses with their minima, and the loaded model's own probabilities."""
    st.subheader("Label smoothing: a target that is not quite certain")
    with st.container(horizontal=True, gap="medium"):
        epsilon = slider("ε, the mass taken", 0.0, 0.95, "epsilon", 0.05, width=260)
        vocabulary = "The size of the vocabulary. A small one shows the two forms apart."
        classes = slider("V, classes with padding", 4, len(WORDS), "classes", explanation=vocabulary, width=260)
    forms = {form: Smoothing(form, epsilon, classes) for form in SmoothingForm}
    see = content.describe_targets(*forms.values())
    for column, form in zip(st.columns(2, gap="medium"), SmoothingForm, strict=True):
        with column:
            st.markdown(f"**{TITLES[form]}**")
            st.caption(WHOSE[form])
            st.latex(content.FORMULAS[form])
            alt, key = f"Heatmap of the target distribution, spread over {form}", f"targets_{_number(form)}"
            with phone_container(classes, key):
                show_figure(targets_figure(forms[form]), key, alt, see)
    st.caption("Rows are positions of a target, columns all classes; a row of a real token sums to 1.")
    st.markdown(
        "Trained towards 1 for the right token, a model is pushed to be ever surer. Label smoothing takes a little "
        "mass, ε, from the right class and spreads it over others. The paper (5.4) took ε = 0.1: it “hurts perplexity, "
        "as the model learns to be more unsure, but improves accuracy and BLEU score”. Two forms are in use."
    )
    show_finding(see, content.TRY_CLASSES)
    _show_losses(forms, epsilon, classes)
    _show_checkpoint(request, results.translator(request.checkpoint))


def _show_losses(forms: dict[SmoothingForm, Smoothing], epsilon: float, classes: int) -> None:
    """Show the loss over the right class's probability for several epsilons, in either form, and its minima."""
    st.subheader("The loss over the probability of the right class")
    st.markdown(
        "Say the model gives p to the right class and the rest evenly to the classes that share ε. Two measures are in "
        "use; they differ by a constant, the target's entropy, so they teach the same:"
    )
    st.latex(content.LOSSES)
    measure = one_of("Measure", MEASURES, "measure")
    drawn, see = sorted({*EPSILONS, epsilon}), content.describe_losses(*forms.values())
    for column, form in zip(st.columns(2, gap="medium"), SmoothingForm, strict=True):
        smoothings = [Smoothing(form, each, classes) for each in drawn]
        with column:
            st.markdown(f"**{TITLES[form]}**")
            alt = f"{measure} over the probability of the right class, spread over {form}"
            show_figure(loss_figure(smoothings, epsilon, measure), f"loss_{_number(form)}", alt, see)
            header, rows = ("best p", "found", "least loss", "found"), content.minimum_rows(smoothings, measure)
            show_table(f"Minima of the {measure}, spread over {form}", "", header, rows)
            st.caption(
                "“Found”: by a search along the curve, without the formula. "
                + plain(content.describe_check(smoothings))
            )
    show_finding(see, content.TRY_MEASURE)


def _show_checkpoint(request: TranslationRequest, translator: Translator) -> None:
    """Show what the loaded model was trained towards, and how sure it is of the user's sentence. Raises UserError."""
    st.subheader("What it left in this model")
    checkpoint = translator.checkpoint
    settings = checkpoint.settings("label_smoothing")
    if settings is None:
        st.info("Its training.json does not say whether it was trained with label smoothing.", icon=":material/help:")
        return
    own, other = (
        Smoothing(form, float(settings.label_smoothing), translator.model.config.output_size) for form in SmoothingForm
    )
    losses = [row["train_loss"] for row in checkpoint.history if math.isfinite(row.get("train_loss", math.nan))]
    st.markdown(plain(content.describe_checkpoint(own, other, losses[-1] if losses else None)))
    trace = results.trace(request)
    alt = "Probability of each next token of the translation, and the probability at which the loss is least"
    see = content.describe_confidence(trace, own)
    show_figure(confidence_figure(trace, own.right), "confidence", alt, see)
    show_finding(see, "other sentences: does any step come near 1?")


def _number(form: SmoothingForm) -> int:
    return list(SmoothingForm).index(form)
