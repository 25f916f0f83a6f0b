"""Contrast: support of each token for the chosen candidate against another one, by two methods."""

import numpy as np
import streamlit as st

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import choose_output_token, from_list
from headlight.app.finding import Finding, Templates, TokenAt
from headlight.app.results import TranslationRequest
from headlight.app.widgets import plain, show_result, show_translation
from headlight.plots.contributions import Contrast, other_candidates
from headlight.plots.limits import left_out_words
from headlight.plots.numbers import format_probability
from headlight.plots.tokens import quoted, shown_token
from headlight.views.research.attribution import most_doubtful_step, occlude_step
from transformer.interpret.attribution import rank_correlation

AGREE, PARTLY = 0.7, 0.3  # rank correlations from which two methods agree, and from which they do in part
TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest) -> None:
    """Show two candidates of a step, and the support of each source and prefix token. Raises UserError."""
    trace = show_translation(request)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        step = choose_output_token(trace, most_doubtful_step(trace))
        others = other_candidates(trace, step)
        shown = {
            token: f"{shown_token(token)}   {format_probability(probability)}"
            for token, (_, probability) in others.items()
        }
        other = from_list(shown, "against", width=260)
    against, probability = others[other]
    if too_many := left_out_words(len(trace.source_ids), len(trace.target_ids), step):
        st.warning(too_many, icon=":material/content_cut:")
        return
    gradient = results.study(request).gradient(step, against)
    left_out = occlude_step(request, step, against)
    names = trace.target_tokens[step], other
    fed = trace.decoder_input_tokens[: step + 1]
    contrast = Contrast(*names, trace.source_tokens, fed, gradient, left_out)
    logits = results.study(request).stream().logits[step]
    chances, ids = (trace.target_probabilities[step], probability), (trace.target_ids[step], against)
    tokens = [plain(quoted(name)) for name in names]
    candidates = [
        TEMPLATES("candidate", token=token, chance=plain(format_probability(float(chance))), logit=float(logit))
        for token, chance, logit in zip(tokens, chances, logits[list(ids)], strict=True)
    ]
    words = {"one": candidates[0], "other": candidates[1], "teal": tokens[0], "brown": tokens[1]}
    st.markdown(TEMPLATES.text("question", **words))
    alt = TEMPLATES.text("alt", token=names[0], against=names[1])
    finding = describe_contrast(contrast)
    show_result(plots.contrast(contrast, theme="page"), "contrast", alt, finding, TEMPLATES.text("attempt"))
    st.caption(TEMPLATES.text("caption"))


def describe_contrast(contrast: Contrast) -> Finding:
    """Return the rank correlation of the methods, and the highest and the lowest bar by each.

    The begin of sentence is left out: no row was ever trained without it.
    """
    begin = len(contrast.source)
    values = {method: np.delete(each, begin) for method, each in contrast.values().items()}

    def bar(bars: np.ndarray, at: int) -> Finding:
        if at < begin:
            return TEMPLATES("of_source", token=TokenAt(contrast.source, at), value=bars[at])
        return TEMPLATES("of_prefix", token=TokenAt(contrast.prefix, at - begin + 1), value=bars[at])

    methods = (
        TEMPLATES(
            "method", method=name, highest=bar(bars, int(np.nanargmax(bars))), lowest=bar(bars, int(np.nanargmin(bars)))
        )
        for name, bars in values.items()
    )
    correlation = rank_correlation(*values.values())
    name = "agree" if correlation >= AGREE else "agree_in_part" if correlation >= PARTLY else "do_not_agree"
    finding = TEMPLATES("too_little") if np.isnan(correlation) else TEMPLATES(name, correlation=correlation)
    return finding.followed_by(TEMPLATES("bars", methods=tuple(methods), begin=contrast.prefix[0]))
