"""The page on the translation: its tokens, how probable each is, and what one head's cross-attention reads."""

import streamlit as st

import session
from plots.heatmap import attention_map_figure, map_title
from session import Choice
from transformer.decoding.sampling import Sampling
from transformer.interpret.trace import Trace, attention_map
from ui.selectors import layer_and_head, row_label
from ui.sentences import show_pieces, show_probabilities, show_sentences
from ui.widgets import phone_container, plain, show_finding

from .text import depth_words, least_probable_token, sharpest_head, strongest_reading


def show_page(choice: Choice) -> None:
    """Sentence, tokens and cross-attention. Raises UserError."""
    trace = session.trace(choice)
    show_sentences(choice)
    drawn = isinstance(choice.strategy, Sampling)
    out_of_depth = depth_words(trace, session.outputs(choice.checkpoint), drawn)
    if out_of_depth:
        st.warning(plain(out_of_depth), icon=":material/scuba_diving:")
    show_finding(least_probable_token(trace))
    _show_tokens(trace, session.translator(choice.checkpoint).tokenizer.unknown_id)
    _show_cross_attention(trace)


def _show_tokens(trace: Trace, unknown_id: int) -> None:
    st.subheader("Pieces")
    st.caption(
        "The model reads and writes pieces, not words. ▁ marks the start of a word, \\</s> the end of the sentence. "
        "The number is the piece's id: its row in the embedding matrix."
    )
    show_pieces(trace.source_tokens, trace.source_ids, "Source pieces with their ids", unknown_id)
    st.caption(
        "The translation's pieces, each with the probability the model gave it (before temperature or top-k): the "
        "darker, the higher."
    )
    show_probabilities(
        trace.next_tokens, trace.next_probabilities, trace.next_ranks, "Target pieces with their probabilities"
    )


def _show_cross_attention(trace: Trace) -> None:
    st.subheader("Cross-attention")
    with st.container(horizontal=True, gap="medium"):
        layer, head = layer_and_head(*trace.cross.shape[:2])
        rows = row_label()
    shown = attention_map(trace, "cross", layer, head, rows)
    title = map_title(shown)
    st.markdown(f"**{title}**")
    with phone_container(len(shown.keys), "cross_map"):
        st.plotly_chart(attention_map_figure(shown), key="cross_map", width="content", alt=f"Heatmap. {title}")
    best_layer, best_head, sharpness = sharpest_head(trace, "cross")
    show_finding(
        f"{strongest_reading(shown)} Try layer {best_layer + 1}, head {best_head + 1}: the sharpest cross-attention "
        f"of this sentence, where a row's largest weight, </s> aside, is {sharpness:.2f} on average."
    )
