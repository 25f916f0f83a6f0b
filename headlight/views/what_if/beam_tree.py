"""Beam search as a tree: every translation that the beam held, what it grew from, and what became of it."""

from dataclasses import replace

import streamlit as st

from headlight.app import results, url_state
from headlight.app.choices import slider
from headlight.app.head_choice import choose_head_of
from headlight.app.results import TranslationRequest, what_if
from headlight.app.sentences import one_line
from headlight.app.widgets import show_attempt, show_finding
from headlight.components.show import beam_tree
from headlight.plots.text import one_head_name
from transformer import Beam
from transformer.decoding.beam import best_branch

from .beam_tree_content import describe_tree, tree_payload

_MOST = 10


def show(request: TranslationRequest) -> None:
    """Show the tree of one search, begun anew from a branch that is chosen. Raises UserError."""
    translator = results.translator(request.checkpoint)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="tree_controls"):
        started = request.strategy if isinstance(request.strategy, Beam) else Beam()
        size = slider("Beam size", 2, _MOST, "tree_beam", start=min(started.size, _MOST), width=260)
        head = choose_head_of(request)
        forced = url_state.token_ids(url_state.read("tree_prefix"))
        if forced and not translator.may_begin_with(forced):
            st.warning("The address begins with tokens that no translation can begin with; they are left out.")
            forced = ()
        st.button("From the start", disabled=not forced, on_click=url_state.write, args=("tree_prefix", ""))
    searched = replace(request, strategy=replace(started, size=size), prefix=forced, rank=1)
    branches = what_if.branches(searched)
    reads = what_if.branch_reads(searched, head.layer, head.head)
    best = translator.tokenizer.decode(branches[best_branch(branches)].ids)
    st.markdown(f"Best: **{one_line(best)}**")
    source = results.trace(request).source_tokens
    reader = f"Cross-attention {one_head_name(head.layer or 0, head.head or 0)} reads: "  # averages are not offered
    payload = tree_payload(branches, reads, source, reader, translator.tokenizer.piece_text)
    beam_tree(payload, "beam_tree", lambda ids: url_state.write("tree_prefix", ids))
    show_finding(describe_tree(branches))
    show_attempt(
        "Make the beam larger: does another translation win, and was it behind for a while? Then click a branch that "
        "fell out: how well could it have ended? A larger beam does not always translate better (Koehn and Knowles "
        "2017)."
    )
