"""The view of a feed-forward's hidden units."""

import streamlit as st

import session
from ui import choices
from ui.selectors import choose_side, choose_token
from ui.sidebar import Choice, show_sentences
from ui.widgets import plain

from .feed_forward_figure import sentence_figure, units_figure
from .text import describe_units


def show(choice: Choice) -> None:
    """One token's units, and the whole sentence's. Raises UserError."""
    translator = session.translator(choice.checkpoint)
    trace = session.trace(choice.checkpoint, choice.text, choice.strategy)
    show_sentences(translator, trace)
    with st.container(horizontal=True, gap="medium"):
        stack = choose_side()
        count = len(getattr(translator.model, stack))
        layer = int(choices.one_of("Layer", tuple(map(str, range(1, count + 1))), "unit_layer")) - 1
    token, tokens = choose_token(trace, stack)
    units = session.hidden_units(choice.checkpoint, choice.text, choice.strategy, stack, layer)
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
    st.info(plain(describe_units(units, token, tokens)), icon=":material/search:")
    st.subheader("Which units fire across the sentence")
    st.plotly_chart(
        sentence_figure(units, tokens), key="sentence_units", alt="The units that fire most, tokens by units"
    )
    st.caption("Rows are tokens, columns the units with the largest sum; a blank cell is a unit that ReLU silenced.")
