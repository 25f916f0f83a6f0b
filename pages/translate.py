"""Translate: what does the model make of this sentence, how sure is it, and what does it read?"""

import streamlit as st

from plots.heatmap import map_title
from transformer.interpret.trace import attention_map
from ui import choices, sidebar
from ui.widgets import plain, show_map, show_pieces, show_probabilities
from views.translate.text import least_certain_step, sharpest_head, strongest_reading

st.title("Translate")
translator, trace = sidebar.current()
sidebar.show_sentences(translator, trace)
st.info(plain(least_certain_step(trace)), icon=":material/search:")

st.subheader("Pieces")
st.caption(
    "The model reads and writes pieces, not words. ▁ marks the start of a word, \\</s> the end of the sentence. "
    "The number is the piece's id: its row in the embedding matrix."
)
show_pieces(trace.source_tokens, trace.source_ids, "Source pieces with their ids", translator.tokenizer.unknown_id)
st.caption(
    "The translation's pieces, each with the probability the model gave it (before temperature or top-k): the "
    "stronger the blue, the surer."
)
show_probabilities(
    trace.next_tokens, trace.next_probabilities, trace.next_ranks, "Target pieces with their probabilities"
)

st.subheader("What the translation read")
layers, heads = trace.cross.shape[:2]
with st.container(horizontal=True, gap="medium"):
    layer, head = choices.layer_and_head(layers, heads)
    rows = choices.row_label()
chosen = attention_map(trace, "cross", layer, head, rows)
st.markdown(f"**{map_title(chosen)}**")
show_map(chosen, "cross_map")
best_layer, best_head, sharpness = sharpest_head(trace, "cross")
st.info(
    plain(
        f"{strongest_reading(chosen)} Try layer {best_layer + 1}, head {best_head + 1}: the sharpest cross-attention "
        f"of this sentence, where a row's largest weight, </s> aside, is {sharpness:.2f} on average."
    ),
    icon=":material/search:",
)
