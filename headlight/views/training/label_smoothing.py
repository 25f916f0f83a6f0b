"""The view on label smoothing: the target in both forms in use, its loss, and what it left in the loaded model."""

import math
from collections.abc import Sequence

import streamlit as st

from headlight.app import results
from headlight.app.choices import one_of, slider
from headlight.app.results import TranslationRequest
from headlight.app.widgets import phone_container, plain, show_figure, show_finding, show_table
from headlight.plots.decoding import confidence
from headlight.plots.text import Finding, format_error, pluralize, quoted
from headlight.plots.training import MEASURES, WORDS, loss_figure, targets_figure
from transformer import Translator
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
VERY_SURE = 0.999
TRY_CLASSES = "other numbers of classes: the fewer there are, the farther apart the two forms."
TRY_MEASURE = (
    "the other measure: the cross-entropy's minima lie at the entropies of the targets, those of the KL divergence at "
    "0. And ε = 0: the least loss is at the right edge."
)


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
    see = describe_targets(*forms.values())
    for column, form in zip(st.columns(2, gap="medium"), SmoothingForm, strict=True):
        with column:
            st.markdown(f"**{TITLES[form]}**")
            st.caption(WHOSE[form])
            st.latex(FORMULAS[form])
            alt, key = f"Heatmap of the target distribution, spread over {form}", f"targets_{_number(form)}"
            with phone_container(classes, key):
                show_figure(targets_figure(forms[form]), key, alt, see)
    st.caption("Rows are positions of a target, columns all classes; a row of a real token sums to 1.")
    st.markdown(
        "Trained towards 1 for the right token, a model is pushed to be ever surer. Label smoothing takes a little "
        "mass, ε, from the right class and spreads it over others. The paper (5.4) took ε = 0.1: it “hurts perplexity, "
        "as the model learns to be more unsure, but improves accuracy and BLEU score”. Two forms are in use."
    )
    show_finding(see, TRY_CLASSES)
    _show_losses(forms, epsilon, classes)
    _show_checkpoint(request, results.translator(request.checkpoint))


def _show_losses(forms: dict[SmoothingForm, Smoothing], epsilon: float, classes: int) -> None:
    """Show the loss over the right class's probability for several epsilons, in either form, and its minima."""
    st.subheader("The loss over the probability of the right class")
    st.markdown(
        "Say the model gives p to the right class and the rest evenly to the classes that share ε. Two measures are in "
        "use; they differ by a constant, the target's entropy, so they teach the same:"
    )
    st.latex(LOSSES)
    measure = one_of("Measure", MEASURES, "measure")
    drawn, see = sorted({*EPSILONS, epsilon}), describe_losses(*forms.values())
    for column, form in zip(st.columns(2, gap="medium"), SmoothingForm, strict=True):
        smoothings = [Smoothing(form, each, classes) for each in drawn]
        with column:
            st.markdown(f"**{TITLES[form]}**")
            alt = f"{measure} over the probability of the right class, spread over {form}"
            show_figure(loss_figure(smoothings, epsilon, measure), f"loss_{_number(form)}", alt, see)
            header, rows = ("best p", "found", "least loss", "found"), minimum_rows(smoothings, measure)
            show_table(f"Minima of the {measure}, spread over {form}", "", header, rows)
            st.caption("“Found”: by a search along the curve, without the formula.")
    show_finding(see, TRY_MEASURE)


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
    st.markdown(plain(describe_checkpoint(own, other, losses[-1] if losses else None)))
    trace = results.trace(request)
    alt = "Probability of each next token of the translation, and the probability at which the loss is least"
    see = describe_confidence(trace, own)
    show_figure(confidence(trace, best=own.right), "confidence", alt, see)
    show_finding(see, "other sentences: does any step come near 1?")


def _number(form: SmoothingForm) -> int:
    return list(SmoothingForm).index(form)


def describe_targets(over_all: Smoothing, over_others: Smoothing) -> Finding:
    """Say what the right class, the others and padding get in either form."""
    return Finding(
        f"Spread over all {over_all.classes} classes, the right one keeps {_mass(over_all.right)}.",
        f"With ε = {over_all.epsilon:g} each other gets {_mass(over_all.wrong)}, padding too, though never right. In "
        f"the other form it keeps {_mass(over_others.right)}, each of the {over_others.others} others gets "
        f"{_mass(over_others.wrong)}, padding nothing.",
    )


def describe_losses(over_all: Smoothing, over_others: Smoothing) -> Finding:
    """Say where the loss is least in either form, and what more certainty costs."""
    best, least = over_all.find_minimum()
    other, other_least = over_others.find_minimum()
    if not over_all.epsilon:
        return Finding("With ε = 0 the loss is least at p = 1.", "More certainty never costs, in either form.")
    return Finding(
        f"Spread over all classes, the loss is least at p = {best:.3f}.",
        f"In the other form, at {other:.3f}; beyond that more certainty costs. At p = {VERY_SURE} the cross-entropy is "
        f"{over_all.cross_entropy(VERY_SURE):.3f} and {over_others.cross_entropy(VERY_SURE):.3f} instead of "
        f"{least:.3f} and {other_least:.3f}, the targets' entropies, which the KL divergence leaves out.",
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


def describe_checkpoint(own: Smoothing, other: Smoothing, last_loss: float | None) -> str:
    """Say what the checkpoint was trained towards, in its own form and beside the other, and the floor of its loss."""
    reached = "" if last_loss is None else f"; at the end of training it was {last_loss:.3f}"
    return (
        f"Trained with ε = {own.epsilon:g} spread over all {own.classes:,} classes, PyTorch's form, this checkpoint "
        f"has its least loss where the right token gets {own.right:.4f} (in the other form, "
        f"{format_error(abs(own.right - other.right))} less). No training loss goes below {own.entropy:.3f} nats per "
        f"token, the target's entropy{reached}."
    )


def describe_confidence(trace: Trace, own: Smoothing) -> Finding:
    """Say how sure the model was of this sentence's steps with a choice, beside what its loss asks for."""
    values = trace.target_probabilities[trace.num_forced :]
    surest, more = int(values.argmax()), ""
    if own.epsilon:
        more = (
            f"Above {own.right:.4f}, where the loss is least for a token that is right beyond doubt, lie "
            f"{int((values > own.right).sum())} of {len(values)}: it is no bound."
        )
    return Finding(
        f"The surest of {pluralize(len(values), 'step')} is {quoted(trace.target_tokens[trace.num_forced + surest])} "
        f"with {values[surest]:.4f}.",
        more,
    )


def _mass(mass: float) -> str:
    return f"{mass:.4f}".rstrip("0").rstrip(".")
