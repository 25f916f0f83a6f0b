"""A page with nothing but the explorer and a button for the next sentence. What `explorer.py` puts to the clock."""

import streamlit as st

from benchmarks.random_maps import random_trace
from browser.attention_explorer import attention_explorer
from views.attention.explorer import read_choice, write_choice
from views.attention.explorer_payload import explorer_blob


def _next() -> None:
    st.session_state["number"] += 1


st.set_page_config(layout="wide")
st.button("next", on_click=_next)
trace = random_trace(int(st.query_params.get("side", 32)), st.session_state.setdefault("number", 1))
attention_explorer(explorer_blob(trace), read_choice(trace), "explorer", lambda choice: write_choice(trace, choice))
