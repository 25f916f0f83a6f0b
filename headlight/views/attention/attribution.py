"""Attention is not attribution: four measures of the source tokens for one target token, side by side."""

import numpy as np
import streamlit as st

from headlight.app import results
from headlight.app.figures import show_figure
from headlight.app.head_choice import choose_layer
from headlight.app.leaving_out import occlude
from headlight.app.results import TranslationRequest, blocks, contributions
from headlight.app.selectors import choose_step
from headlight.app.sentences import show_translation
from headlight.app.widgets import plain, show_attempt, show_finding, show_table
from headlight.plots.contributions import (
    GRADIENT,
    LEFT_OUT,
    MEASURES,
    NORMED,
    RAW,
    attribution_figure,
    correlation_rows,
    correlations,
)
from headlight.plots.text import format_probability, head_name, quoted, signed
from transformer.interpret.attribution import norm_weighted

from . import attribution_content as content


def show(request: TranslationRequest) -> None:
    """Show the measures of a step, their correlation, and what they are. Raises UserError."""
    trace = results.trace(request)
    show_translation(request)
    st.markdown(
        "Attention weights say where a layer reads, not what the output depends on. Here are three other measures of "
        "the same source tokens, for the target token of one step. None of the four is the truth: each asks another "
        "question."
    )
    step = choose_step(trace)
    layers, heads = trace.cross.shape[:2]
    layer = choose_layer("Layer of the attention", layers)
    chosen = list(range(layers)) if layer is None else [layer]
    gradient, left_out = contributions.gradient(request, step), occlude(request, step)
    values = {
        RAW: trace.cross[chosen, :, step].mean(axis=(0, 1), dtype=np.float64),
        NORMED: norm_weighted([blocks.stages(request, "cross", each)[:2] for each in chosen], step),
        GRADIENT: gradient.source,
        LEFT_OUT: left_out.source,
    }
    target, tokens = quoted(trace.target_tokens[step]), trace.source_tokens
    st.caption(
        plain(
            f"For {target}, to which the model gave {format_probability(float(trace.target_probabilities[step]))} (log "
            f"P = {signed(left_out.log_probability, 3)}). Raw and norm-weighted: cross-attention, "
            f"{head_name(layer, None, layers, heads)}. Orange bars speak for {target}, hatched blue ones against it; "
            "weights and lengths, plain blue, cannot tell which. Each panel has its own scale."
        )
    )
    largest = content.describe_largest(values, tokens)
    fed = trace.decoder_input_tokens[: step + 1]
    see = f"{largest} {content.describe_prefix(gradient.prefix, left_out.prefix, left_out.source, fed)}".strip()
    alt = f"Four panels of bars over the source tokens, for the target token {target}"
    show_figure(attribution_figure(values, tokens), "beyond", alt, see)
    show_finding(see)
    found = correlations(values)
    st.markdown("**Rank correlation** (Spearman) of the source tokens, ranked by size, signs aside")
    show_table("Rank correlation of each two measures", "", MEASURES[:-1], correlation_rows(found))
    st.caption(plain(content.describe_agreement(found)))
    show_attempt(
        "Try the end of sentence and the full stop: do they get weight, and what happens when they are left out? Then "
        "a step that copies a name, and one that writes a word the source has not."
    )
    with st.expander("How each is computed"):
        for name in MEASURES:
            st.latex(content.FORMULAS[name])
            st.caption(plain(f"{name}: {content.SOURCES[name]}."))
        st.caption(
            "t is the step, j a source token, x its embedding, v its value, P the probability of the target token. A "
            "token that is left out keeps its place, so that all others stay where they are."
        )
