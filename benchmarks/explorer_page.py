"""A page with nothing but the explorer and a button for the next sentence. What `explorer.py` puts to the clock."""

import streamlit as st

from benchmarks.peer_pages import HEADS, LAYERS, random_trace
from headlight.app.selection import Selection
from headlight.components.show import attention_explorer
from headlight.views.attention.explorer import write_choice
from headlight.views.attention.explorer_content import DEFAULTS, explorer_blob
from transformer.model.heads import Head
from transformer.model.names import AttentionKind


def _next() -> None:
    st.session_state["number"] += 1


st.set_page_config(layout="wide")
st.button("next", on_click=_next)
side, layers, heads = (
    int(st.query_params.get(name, most)) for name, most in (("side", 32), ("of", LAYERS), ("by", HEADS))
)
trace = random_trace(side, st.session_state.setdefault("number", 1), layers, heads)
address = st.query_params.to_dict()
selection = Selection.parse(address, trace, Head(AttentionKind.CROSS, 0, 0))
choice = {name: address.get(name, value) for name, value in DEFAULTS.items()}
choice |= {**selection.address, "kinds": "all three"}
attention_explorer(explorer_blob(trace), choice, "explorer", write_choice)
