"""The view that splits a small tensor into heads, cell by cell, the right way and the wrong one."""

import streamlit as st

from headlight.app.choices import one_of
from headlight.app.results import TranslationRequest
from headlight.app.widgets import plain, show_attempt, show_finding
from transformer.experiments.attention import Layout, split_right, split_wrong

from .head_split_content import describe, facts, memory_html, tables_html


def show(request: TranslationRequest) -> None:
    """Show sizes, the tensor before and after, and the bare reshape beside it."""
    st.markdown(
        "A head is not computed, it is **cut out**: `view` gives the last axis a second one, `transpose` swaps it "
        "before the tokens. Every cell has its number in memory, every token its colour. These are PyTorch's own "
        "tensors."
    )
    with st.container(horizontal=True, gap="medium"):
        tokens = int(one_of("Tokens", ("2", "3", "4", "5"), "split_tokens"))
        heads = int(one_of("Heads", ("1", "2", "3", "4"), "split_heads"))
        d_k = int(one_of("d_k", ("1", "2", "3", "4"), "split_d_k"))
    before, viewed, right = split_right(tokens, heads, d_k)
    wrong, d_model = split_wrong(tokens, heads, d_k), heads * d_k
    _show("Before", before, d_model)
    _show("1. The last axis becomes two: nothing moves, not even in the order of counting", viewed, d_model)
    columns = st.columns(2, gap="large")
    with columns[0]:
        _show("2. Heads before tokens: right", right, d_model)
    with columns[1]:
        _show("The wrong way: one bare reshape to the same shape", wrong, d_model)
    show_finding(describe(wrong, d_model))
    show_attempt(
        "Try 1 head: the mistake is gone. Then look at the strides: transpose only swaps two of them, and merging the "
        "heads again needs a copy (contiguous, or reshape), because memory is no longer read in order."
    )


def _show(title: str, layout: Layout, d_model: int) -> None:
    st.markdown(f"**{title}**")
    st.code(layout.made_by, language="python")
    st.html(tables_html(layout, d_model))
    st.caption(plain(facts(layout)))
    st.html(memory_html(layout, d_model))
