"""The choice of one step: from the decoder's last vector to the tokens that sampling may draw."""

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import slider
from headlight.app.finding import Templates
from headlight.app.results import TranslationRequest
from headlight.app.widgets import is_presented, plain, show_calculation, show_figure, show_finding
from headlight.plots.decoding import PRESENTED, SHOWN
from transformer.decoding.sampling import Truncation, truncate
from transformer.interpret.parameters import output_row
from transformer.interpret.trace import Trace

from .candidates_content import describe_cut, logit_by_hand, softmax_by_hand
from .player import chosen_rank, chosen_step

TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest, row: DeltaGenerator) -> None:
    """Show the probabilities of the player's step under temperature, top-k and top-p. Raises UserError."""
    request = replace(request, rank=chosen_rank(request))
    translator, trace = results.translator(request.checkpoint), results.trace(request)
    step = chosen_step(trace)
    with row:
        st.markdown(plain(step_words(trace, step)))
    logits = results.study(request).stream().logits[step]
    name, most = translator.tokenizer.piece_text, PRESENTED if is_presented() else SHOWN
    with st.container(horizontal=True, gap="medium"):
        temperature, top_k = slider("draw_temperature", step=0.1), slider("draw_topk")
        top_p = slider("draw_topp", step=0.05)
    cut = truncate(logits, temperature, top_k, top_p, translator.model.config.never_chosen)
    see = describe_cut(cut, name, temperature)
    st.markdown(TEMPLATES.text("legend"))
    alt = TEMPLATES.text("alt", most=most, step=step + 1, token=trace.target_tokens[step])
    show_figure(plots.probabilities(cut, name, most, theme="page"), "cut_bars", alt, see)
    show_finding(see, TEMPLATES.text("attempt"))
    st.caption(TEMPLATES.text("caption"))
    _show_by_hand(request, trace, step, truncate(logits))


def step_words(trace: Trace, step: int) -> str:
    """Name a step, counted from 0, by the prefix and the token that follows."""
    name = "comes" if step in trace.scored_steps else "given"
    read = trace.decoder_input_tokens[: step + 1]
    return TEMPLATES.text(name, step=step + 1, steps=len(trace.target_ids), read=read, token=trace.target_tokens[step])


def _show_by_hand(request: TranslationRequest, trace: Trace, step: int, cut: Truncation) -> None:
    """Write out one logit and one probability, folded."""
    translator, stream = results.translator(request.checkpoint), results.study(request).stream()
    name, config = translator.tokenizer.piece_text, translator.model.config
    best, taken = int(cut.order[0]), trace.target_ids[step]
    row, bias = output_row(translator.model, best)
    with st.expander(TEMPLATES.text("by_hand")):
        shared = TEMPLATES("shared") if config.ties_output else ""
        plus = TEMPLATES("plus") if config.output_bias else ""
        sizes = {"width": config.d_model, "rows": config.output_size}
        st.markdown(plain(TEMPLATES.text("product", **sizes, shared=shared, plus=plus)))
        by_hand = logit_by_hand(stream.decoder.end[step], row, cut.logits[best], bias)
        show_calculation(f"{name(best)}: {by_hand}")
        show_calculation(f"{name(taken)}: {softmax_by_hand(cut, taken, float(trace.target_probabilities[step]))}")
