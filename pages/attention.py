"""Attention: what does every head of the encoder, the decoder and between them look at?"""

import streamlit as st

from components import choices, sidebar
from components.explorer_view import show_explorer
from components.map import show_map
from components.text import plain
from figures.attention_map import map_title
from figures.captions import describe_map, worth_a_look
from figures.overview import overview_figure
from figures.style import KIND_NAMES
from transformer.maps import SPECIALS, attention_map, masked_maps

_SUM = "Rows are queries, the tokens that read; columns are keys, the tokens that are read. A row's weights sum to 1."
_EXPLANATIONS = {
    "encoder": "**Encoder self-attention.** Every source token reads every source token.",
    "decoder": "**Masked decoder self-attention.** Each row is one step of the decoder: it reads the token just "
    "fed and all fed before; the cells of later tokens are masked and stay blank.",
    "cross": "**Cross-attention.** Each row is one step of the decoder: it reads the whole source sentence. "
    "Try both names for its rows: a word often fits the step it was fed to better than the one that predicts it "
    "(Chen et al. 2020).",
}

st.title("Attention")
translator, trace = sidebar.current()
sidebar.show_sentences(translator, trace)
show_explorer(trace)
kind = choices.one_of("Kind of attention", list(KIND_NAMES), "kind")
st.caption(f"{_EXPLANATIONS[kind]} {_SUM}")
maps = masked_maps(trace, kind)
layers, heads = maps.shape[:2]

overview = st.container()
with st.container(horizontal=True, gap="medium"):
    layer, head = choices.layer_and_head(layers, heads)
    rows = "fed" if kind == "encoder" else choices.row_label()
    specials = choices.one_of("Special tokens <s> and </s>", SPECIALS, "specials")
whole = attention_map(trace, kind, layer, head, rows)
with overview:
    st.subheader(f"All {layers} x {heads} heads")
    st.plotly_chart(
        overview_figure(maps, whole.queries, whole.keys, (layer, head)), key="overview",
        alt=f"{KIND_NAMES[kind]}: thumbnails of {layers} layers by {heads} heads",
    )  # fmt: skip
    st.info(plain(worth_a_look(trace, kind)), icon=":material/search:")

chosen = whole if specials == "shown" else attention_map(trace, kind, layer, head, rows, specials)
st.subheader(map_title(chosen))
if specials != "shown":
    st.caption(
        "Special tokens are left out, and each row is divided by what remains, so that it sums to 1 again."
        if specials == "renormalised"
        else "Special tokens are left out and the rows are not renormalised: each lacks what went there."
    )
if chosen.weights.size:
    show_map(chosen, "map")
counted = "" if specials == "shown" else "With the special tokens: "
st.info(plain(counted + describe_map(whole)), icon=":material/search:")
