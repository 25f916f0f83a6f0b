"""The view of one token's walk through its stack."""

import streamlit as st

import session
from transformer.interpret.residual import walk
from ui.selectors import choose_side, choose_token
from ui.sidebar import Choice, show_sentences
from ui.widgets import plain

from .text import describe_trajectory
from .trajectory_figure import trajectory_figure


def show(choice: Choice) -> None:
    """Lengths and directions, station by station. Raises UserError."""
    trace = session.trace(choice.checkpoint, choice.text, choice.strategy)
    stream = session.stream(choice.checkpoint, choice.text, choice.strategy)
    show_sentences(session.translator(choice.checkpoint), trace)
    stack = choose_side()
    token, tokens = choose_token(trace, stack)
    st.markdown(plain(f"Token {token + 1}: “{tokens[token]}”") + ", from its embedding to the end of the stack.")
    way = walk(getattr(stream, stack), token)
    st.plotly_chart(
        trajectory_figure(way),
        key="walk",
        alt=f"Norm and direction of the vector of {tokens[token]} after every sub-layer",
    )
    st.info(plain(describe_trajectory(way, tokens[token])), icon=":material/search:")
    st.info(
        "Try a full stop or the end of sentence beside a noun: which of them do the sub-layers change more? And a "
        "checkpoint with pre-norm (reverse): there the length grows, for no LayerNorm brings it back on the way.",
        icon=":material/science:",
    )
