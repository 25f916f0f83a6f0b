"""The view of one step: projection, softmax, and what temperature, top-k and top-p cut."""

import streamlit as st

import session
from transformer.decoding.sampling import truncate
from ui.selectors import choose_step
from ui.sidebar import Choice, show_sentences
from ui.widgets import plain

from .step_figure import SHOWN, cut_figure, logits_figure
from .text import describe_cut, logit_by_hand, softmax_by_hand


def show(choice: Choice) -> None:
    """From the last vector to the word that is drawn. Raises UserError."""
    translator = session.translator(choice.checkpoint)
    trace = session.trace(choice.checkpoint, choice.text, choice.strategy)
    stream = session.stream(choice.checkpoint, choice.text, choice.strategy)
    show_sentences(translator, trace)
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
    st.info(
        plain(f"{name(best)}: {logit_by_hand(stream.decoder.end[step], row, logits[best])}"),
        icon=":material/calculate:",
    )
    st.subheader("2. Softmax, and what may be drawn")
    with st.container(horizontal=True, gap="medium"):
        temperature = st.slider(
            "Temperature", 0.1, 3.0, 1.0, 0.1, key="lens_temperature", bind="query-params", width=220
        )
        top_k = st.slider("Top-k (0: all)", 0, 50, 0, key="lens_topk", bind="query-params", width=220)
        top_p = st.slider("Top-p", 0.05, 1.0, 1.0, 0.05, key="lens_topp", bind="query-params", width=220)
    bent = truncate(logits, temperature, top_k, top_p)
    st.plotly_chart(
        cut_figure(bent, name), key="cut_bars", alt="Probabilities of the same pieces before and after the cut"
    )
    st.caption(
        "Bars: what would be drawn from. Diamonds: softmax of the logits as they are; a cross marks a piece that is "
        "cut off. First the logits are divided by the temperature, then top-k keeps the best, then top-p the fewest "
        "of these that hold so much of their mass (Holtzman et al. 2020)."
    )
    st.info(plain(describe_cut(bent, name, temperature)), icon=":material/search:")
    taken = trace.next_ids[step]
    probability = float(trace.next_probabilities[step])
    st.info(plain(f"{name(taken)}: {softmax_by_hand(own, taken, probability)}"), icon=":material/calculate:")
    st.info(
        "Try temperature 0.1: the favourite takes all, and sampling becomes greedy decoding. Then temperature 2 with "
        "top-p "
        "0.9: how many pieces would have to be let in?",
        icon=":material/science:",
    )
