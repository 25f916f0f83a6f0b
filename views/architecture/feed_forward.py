"""The view of a feed-forward's hidden units."""

import streamlit as st

import session
from session import Choice
from ui.selectors import choose_side, choose_token, one_number
from ui.sentences import show_sentences
from ui.widgets import plain, show_finding

from .feed_forward_figure import sentence_figure, units_figure
from .text import describe_units


def show(choice: Choice) -> None:
    """One token's units, and the whole sentence's. Raises UserError."""
    translator = session.translator(choice.checkpoint)
    trace = session.trace(choice)
    show_sentences(choice)
    with st.container(horizontal=True, gap="medium"):
        stack = choose_side()
        layer = one_number("Layer", len(getattr(translator.model, stack)), "unit_layer") - 1
    token, tokens = choose_token(trace, stack)
    units = session.hidden_units(choice, stack, layer)
    st.markdown(
        plain(
            f"Each token alone goes from {translator.model.config.d_model} numbers to {units.shape[1]:,}; ReLU keeps "
        )
        + "the positive ones; then back."
    )
    st.subheader(plain(f"The strongest units for “{tokens[token]}”"))
    st.plotly_chart(
        units_figure(units[token]), key="units", alt=f"The strongest hidden units for {tokens[token]} after ReLU"
    )
    show_finding(describe_units(units, token, tokens))
    st.subheader("Which units fire across the sentence")
    st.plotly_chart(
        sentence_figure(units, tokens), key="sentence_units", alt="The units that fire most, tokens by units"
    )
    st.caption("Rows are tokens, columns the units with the largest sum; a blank cell is a unit that ReLU silenced.")
