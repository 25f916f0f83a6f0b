"""Candidates: from the decoder's last vector to the tokens that may be drawn."""

import streamlit as st

from headlight.app import results
from headlight.app.choices import choose_step, slider
from headlight.app.results import TranslationRequest
from headlight.app.widgets import (
    is_presented,
    plain,
    show_calculation,
    show_figure,
    show_finding,
    show_translation,
)
from headlight.plots.decoding import (
    PRESENTED,
    SHOWN,
    logits_figure,
    truncation_figure,
)
from headlight.plots.text import quoted
from headlight.views.research.logits_content import (
    describe_cut,
    logit_by_hand,
    softmax_by_hand,
)
from transformer.decoding.sampling import truncate
from transformer.interpret.parameters import output_row


def show(request: TranslationRequest) -> None:
    """Show output projection, softmax, and what temperature, top-k and top-p do to it. Raises UserError."""
    translator, trace = results.translator(request.checkpoint), show_translation(request)
    stream = results.residual_stream(request)
    step = choose_step(trace)
    name, logits = translator.tokenizer.piece_text, stream.logits[step]
    untempered = truncate(logits)
    model, best = translator.model, int(untempered.order[0])
    st.subheader("1. From a vector to a logit for every token")
    width, rows = model.config.d_model, model.config.output_size
    shared = ", the same matrix that embeds the tokens" if model.config.ties_output else ""
    shapes = f"{width} numbers times a matrix of {rows:,} rows by {width}{shared}"
    plus = ", plus a bias, which the paper does not have" if model.config.output_bias else ""
    st.markdown(plain(f"The decoder's last vector is {shapes}: one dot product per token (paper, 3.4){plus}."))
    most = PRESENTED if is_presented() else SHOWN
    alt = f"The {most} largest logits of step {step + 1}, which predicts {quoted(trace.target_tokens[step])}"
    show_figure(logits_figure(untempered, name, most), "logits_bars", alt)
    row, bias = output_row(model, best)
    by_hand = logit_by_hand(stream.decoder.end[step], row, logits[best], bias)
    show_calculation(f"{name(best)}: {by_hand}")
    st.subheader("2. Softmax, and what may be drawn")
    with st.container(horizontal=True, gap="medium"):
        temperature = slider("Temperature", 0.1, 3.0, "lens_temperature", 0.1, width=220)
        top_k = slider("Top-k (0: all)", 0, 50, "lens_topk", width=220)
        top_p = slider("Top-p", 0.05, 1.0, "lens_topp", 0.05, width=220)
    tempered = truncate(logits, temperature, top_k, top_p, model.config.never_chosen)
    alt = "Probabilities of the same tokens before and after the cut"
    see = describe_cut(tempered, name, temperature)
    show_figure(truncation_figure(tempered, name, most), "cut_bars", alt, see)
    st.caption(
        "Bars: the sampling distribution. Diamonds: softmax of the logits as they are; a cross: cut off. Logits are "
        "divided by the temperature, top-k keeps the best, top-p the fewest of these that hold so much of their mass "
        "(Holtzman et al. 2020)."
    )
    show_finding(
        see,
        "temperature 0.1: sampling becomes nearly greedy decoding. Then temperature 2 with top-p 0.9: how many tokens "
        "does it let in?",
    )
    taken = trace.target_ids[step]
    show_calculation(f"{name(taken)}: {softmax_by_hand(untempered, taken, float(trace.target_probabilities[step]))}")
