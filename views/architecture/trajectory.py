"""The view of one token's trajectory through its stack: its vector after every sub-layer."""

import streamlit as st

import session
from session import Choice
from transformer.interpret.residual import trajectory
from ui.selectors import choose_side, choose_token
from ui.sentences import show_sentences
from ui.widgets import plain, show_attempt, show_finding

from .text import describe_trajectory
from .trajectory_figure import trajectory_figure


def show(choice: Choice) -> None:
    """Lengths and directions, sub-layer by sub-layer. Raises UserError."""
    trace = session.trace(choice)
    stream = session.residual_stream(choice)
    show_sentences(choice)
    stack = choose_side()
    token, tokens = choose_token(trace, stack)
    st.markdown(plain(f"Token {token + 1}: “{tokens[token]}”") + ", from its embedding to the end of the stack.")
    followed = trajectory(getattr(stream, stack), token)
    st.plotly_chart(
        trajectory_figure(followed),
        key="walk",
        alt=f"Norm and direction of the vector of {tokens[token]} after every sub-layer",
    )
    show_finding(describe_trajectory(followed, tokens[token]))
    show_attempt(
        "Try a full stop or the end of sentence beside a noun: which of them do the sub-layers change more? And a "
        "checkpoint with pre-norm (reverse): there the norm grows, for no LayerNorm brings it back on the way."
    )
