"""Layers read early: the translation from each encoder layer, and the parts of one logit in the decoder."""

import streamlit as st

from headlight.app import results
from headlight.app.choices import one_of
from headlight.app.figures import show_figure
from headlight.app.results import TranslationRequest, what_if
from headlight.app.selectors import choose_step
from headlight.app.sentences import show_translation
from headlight.app.widgets import phone_container, plain, show_attempt, show_finding
from headlight.plots.why import logit_kinds_figure, logit_parts_figure
from transformer import Sampling

from .early_layers_content import describe_lens, describe_parts, early_layers_html, logit_words

LOGIT_OF = LOGIT, LEAD = "logit", "lead over the runner-up"


def show(request: TranslationRequest) -> None:
    """Show what the decoder writes from each encoder layer, then what each part adds to a logit. Raises UserError."""
    translator = results.translator(request.checkpoint)
    found = what_if.early_translations(request)  # which has the translation too
    show_translation(request)
    st.html(early_layers_html(found, translator.tokenizer.piece_text))
    norm = ", through the encoder's last LayerNorm" if translator.model.config.norm == "pre" else ""
    is_sampled = isinstance(request.strategy, Sampling)
    greedy = " Here it decodes greedily, where the translation above was sampled." if is_sampled else ""
    st.caption(
        f"The decoder reads the output of an earlier encoder layer as if it were the last{norm} (DecoderLens, "
        f"Langedijk et al. 2024). Blue: tokens of the last layer's translation, in its order.{greedy}"
    )
    show_finding(describe_lens(found))
    _show_parts(request)
    show_attempt(
        "Take a sentence with “not”, a number or a name: from which layer on is it there, and in its place? A decoder "
        "that never learned to read an early layer may miss what stands in it. Then a step that copies a name and one "
        "that writes a full stop: which parts add to each? What a part does by way of later parts counts as theirs."
    )


def _show_parts(request: TranslationRequest) -> None:
    """Show a step's logit as the sum of what each part of the decoder adds directly."""
    trace, translator = results.trace(request), results.translator(request.checkpoint)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        of = one_of(
            "Parts of the token's",
            LOGIT_OF,
            "logit_of",
            "The runner-up is the most probable other token of the step.",
        )
        step = choose_step(trace)
    other = int(trace.candidate_ids[step][trace.runner_up(step)]) if of == LEAD else None
    found = what_if.logit_parts(request, step, other)
    against = None if other is None else translator.tokenizer.piece_text(other)
    what = logit_words(trace.target_tokens[step], against)
    left, right = st.columns([2, 5], gap="small")
    see = describe_parts(found, what)
    with left:
        show_figure(logit_kinds_figure(found), "logit_kinds", f"What each kind of part adds to {what}", see)
    with right, phone_container(2 * found.cross.shape[1], "logit_map"):
        alt = f"What each head and each feed-forward of the decoder adds to {what}"
        show_figure(logit_parts_figure(found), "logit_layers", alt, see)
    show_finding(see)
    st.caption(
        plain(
            "Direct logit attribution (Elhage et al. 2021): the logit is a dot product with the decoder's last vector, "
            "a sum, so it is a sum too. Each LayerNorm is held at the standard deviation that it has here. The biases "
            "are those of LayerNorms, attention outputs and the output layer; others count with their part."
        )
    )
