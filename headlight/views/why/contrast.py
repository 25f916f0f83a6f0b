"""Why this token: what speaks for the token that was chosen and what for another candidate, by two methods."""

import streamlit as st

from headlight.app import results
from headlight.app.figures import show_figure
from headlight.app.leaving_out import occlude
from headlight.app.results import TranslationRequest, contributions
from headlight.app.selectors import choose_among, choose_output_token
from headlight.app.sentences import show_translation
from headlight.app.widgets import plain, show_attempt, show_finding
from headlight.plots.text import format_probability, quoted, signed
from headlight.plots.why import Contrast, contrast_figure, other_candidates

from .contrast_content import describe_contrast, most_doubtful_step


def show(request: TranslationRequest) -> None:
    """Show two candidates of a step, and what each source and prefix token does for either. Raises UserError."""
    trace = results.trace(request)
    show_translation(request)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        step = choose_output_token(trace, "why_step", most_doubtful_step(trace))
        others = other_candidates(trace, step)
        shown = {token: f"{token}   {format_probability(probability)}" for token, (_, probability) in others.items()}
        other = choose_among("Rather than", shown, "against", next(iter(shown)))
    against, probability = others[other]
    gradient = contributions.gradient(request, step, against)
    left_out = occlude(request, step, against)
    names = trace.target_tokens[step], other
    fed = trace.decoder_input_tokens[: step + 1]
    contrast = Contrast(*names, trace.source_tokens, fed, gradient, left_out)
    logits = results.residual_stream(request).logits[step]
    told = [
        f"**{plain(quoted(name))}** ({plain(format_probability(float(chance)))}, logit {signed(float(logits[id]), 2)})"
        for name, chance, id in zip(
            names, (trace.target_probabilities[step], probability), (trace.target_ids[step], against), strict=True
        )
    ]
    st.markdown(
        f"Why {told[0]} and not {told[1]}? Orange bars, to the right, "
        f"speak for **{plain(quoted(names[0]))}**, hatched blue ones for **{plain(quoted(names[1]))}**: look for a "
        "token that both methods have far out on the same side."
    )
    alt = f"For each source and prefix token what it does for {quoted(names[0])} against {quoted(names[1])}"
    see = describe_contrast(contrast)
    show_figure(contrast_figure(contrast), "contrast", alt, see)
    show_finding(see)
    st.caption(
        "What is looked at is log P of the one token less log P of the other, which is the difference of their logits "
        "(contrastive attribution, Yin and Neubig 2022). Gradient × input: how it changes when a token's embedding is "
        "scaled a little. Leave-one-out: how much of it is lost when no other token may read this one. Neither is the "
        "truth, and they often rank tokens otherwise: the gradient sees a very small change, leaving out makes a "
        "sentence unlike any in training. The last token of the prefix cannot be left out. Each panel has its scale."
    )
    show_attempt(
        "Try output token 1 of “The dogs sleep.”: does “dogs” speak for its article? Then of “The nurse said that she "
        "is tired.”: does the gender of the first word come from “nurse” or from “she” (Stanovsky et al. 2019)?"
    )
