"""The choice of one step: from the decoder's last vector to the tokens that sampling may draw."""

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import slider
from headlight.app.results import TranslationRequest
from headlight.app.widgets import is_presented, plain, show_calculation, show_figure, show_finding
from headlight.plots.decoding import PRESENTED, SHOWN
from headlight.plots.tokens import quoted
from transformer.decoding.sampling import Truncation, truncate
from transformer.interpret.parameters import output_row
from transformer.interpret.trace import Trace

from .candidates_content import describe_cut, logit_by_hand, softmax_by_hand
from .player import chosen_rank, chosen_step


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
        temperature = slider("Temperature", 0.1, 3.0, "draw_temperature", 0.1)
        top_k = slider("Top-k (0: all)", 0, 50, "draw_topk")
        top_p = slider("Top-p", 0.05, 1.0, "draw_topp", 0.05)
    cut = truncate(logits, temperature, top_k, top_p, translator.model.config.never_chosen)
    see = describe_cut(cut, name, temperature)
    st.markdown("**Probabilities**: bars, for sampling; diamonds, softmax of the logits")
    alt = f"The {most} largest probabilities of step {step + 1}, which predicts {quoted(trace.target_tokens[step])}"
    show_figure(plots.probabilities(cut, name, most, theme="page"), "cut_bars", alt, see)
    show_finding(
        see,
        "temperature 0.1, nearly greedy decoding. Then temperature 2 with top-p 0.9: how many tokens does it let in?",
    )
    st.caption(
        "The temperature divides the logits; top-k keeps the k best, top-p the fewest that together reach p (Holtzman "
        "et al. 2020). A cross: this token is cut off."
    )
    _show_by_hand(request, trace, step, truncate(logits))


def step_words(trace: Trace, step: int) -> str:
    """Name a step, counted from 0, by the prefix and the token that follows."""
    read = " ".join(trace.decoder_input_tokens[: step + 1])
    comes = "comes" if step in trace.scored_steps else "comes, not chosen but given,"
    return f"Step {step + 1} of {len(trace.target_ids)}: after {read} {comes} {quoted(trace.target_tokens[step])}."


def _show_by_hand(request: TranslationRequest, trace: Trace, step: int, cut: Truncation) -> None:
    """Write out one logit and one probability, folded."""
    translator, stream = results.translator(request.checkpoint), results.study(request).stream()
    name, config = translator.tokenizer.piece_text, translator.model.config
    best, taken = int(cut.order[0]), trace.target_ids[step]
    row, bias = output_row(translator.model, best)
    with st.expander("One logit and one probability by hand"):
        shared = ", the same matrix that embeds the tokens" if config.ties_output else ""
        plus = ", plus a bias, which the paper does not have" if config.output_bias else ""
        st.markdown(
            plain(
                f"The decoder's last vector is {config.d_model} numbers, multiplied by a matrix of "
                f"{config.output_size:,} rows by {config.d_model}{shared}: one dot product per token (paper, 3.4)"
                f"{plus}."
            )
        )
        by_hand = logit_by_hand(stream.decoder.end[step], row, cut.logits[best], bias)
        show_calculation(f"{name(best)}: {by_hand}")
        show_calculation(f"{name(taken)}: {softmax_by_hand(cut, taken, float(trace.target_probabilities[step]))}")
