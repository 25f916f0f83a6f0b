"""The view of one step: output projection, softmax, and what temperature, top-k and top-p do to it."""

import streamlit as st

import session
from session import Choice
from transformer.decoding.sampling import truncate
from ui.choices import slider
from ui.selectors import choose_step
from ui.sentences import show_sentences
from ui.widgets import plain, show_attempt, show_calculation, show_finding

from .step_figure import SHOWN, cut_figure, logits_figure
from .text import describe_cut, logit_by_hand, softmax_by_hand


def show(choice: Choice) -> None:
    """From the last vector to the word that is drawn. Raises UserError."""
    translator = session.translator(choice.checkpoint)
    trace = session.trace(choice)
    stream = session.residual_stream(choice)
    show_sentences(choice)
    step = choose_step(trace)
    name, logits = translator.tokenizer.piece_text, stream.logits[step]
    own = truncate(logits)
    model, best = translator.model, int(own.order[0])
    st.subheader("1. From a vector to a logit for every piece")
    shapes = (
        f"{model.config.d_model} numbers times a matrix of {model.config.vocab_size:,} rows by {model.config.d_model}"
    )
    shared = ", the same matrix that embeds the pieces" if model.config.share_embeddings else ""
    st.markdown(plain(f"The decoder's last vector is {shapes}{shared}: one dot product a piece (paper, 3.4)."))
    st.plotly_chart(
        logits_figure(own, name), key="logits_bars", alt=f"The {SHOWN} largest logits of this step, with their pieces"
    )
    row = model.output_projection.weight[best].detach().cpu().numpy()
    show_calculation(f"{name(best)}: {logit_by_hand(stream.decoder.end[step], row, logits[best])}")
    st.subheader("2. Softmax, and what may be drawn")
    with st.container(horizontal=True, gap="medium"):
        temperature = slider("Temperature", 0.1, 3.0, "lens_temperature", 0.1, width=220)
        top_k = slider("Top-k (0: all)", 0, 50, "lens_topk", width=220)
        top_p = slider("Top-p", 0.05, 1.0, "lens_topp", 0.05, width=220)
    tempered = truncate(logits, temperature, top_k, top_p)
    st.plotly_chart(
        cut_figure(tempered, name), key="cut_bars", alt="Probabilities of the same pieces before and after the cut"
    )
    st.caption(
        "Bars: what would be drawn from. Diamonds: softmax of the logits as they are; a cross marks a piece that is "
        "cut off. First the logits are divided by the temperature, then top-k keeps the best, then top-p the fewest "
        "of these that hold so much of their mass (Holtzman et al. 2020)."
    )
    show_finding(describe_cut(tempered, name, temperature))
    taken = trace.next_ids[step]
    probability = float(trace.next_probabilities[step])
    show_calculation(f"{name(taken)}: {softmax_by_hand(own, taken, probability)}")
    show_attempt(
        "Try temperature 0.1: the most probable piece takes all, and sampling becomes greedy decoding. Then "
        "temperature 2 with top-p 0.9: how many pieces would have to be let in?"
    )
