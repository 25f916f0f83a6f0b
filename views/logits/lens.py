"""The logit lens on a page: what each decoder layer would have predicted."""

import streamlit as st

import session
from plots.text import quoted
from session import Choice
from ui.selectors import choose_step
from ui.sentences import show_sentences
from ui.widgets import plain, show_finding, show_table

from .lens_figure import ranks_figure
from .text import describe_lens, lens_rows


def show(choice: Choice) -> None:
    """Layers by steps, then the ranks. Raises UserError."""
    translator = session.translator(choice.checkpoint)
    trace = session.trace(choice)
    lens = session.lens(choice)
    show_sentences(choice)
    norm = (
        "put through the stack's last LayerNorm and the output projection"
        if translator.model.config.norm == "pre"
        else "put through the output projection as they are, for each layer ends with a LayerNorm"
    )
    st.markdown(
        f"Suppose the decoder stopped early: the vectors after each layer are {norm}. “Start” is the fed piece with "
        "its position, before any layer. **Bold** is that layer's top-1 prediction; below it stand probability and "
        "rank of the piece that comes in the end, and the bluer the cell, the more probable that is."
    )
    show_table(
        "The logit lens: layers by steps",
        "comes in the end",
        trace.next_tokens,
        lens_rows(lens, translator.tokenizer.piece_text),
        shades=lens.probabilities.tolist(),
    )
    show_finding(describe_lens(lens, trace.next_tokens))
    st.subheader("How the final piece rises")
    step = choose_step(trace)
    st.plotly_chart(
        ranks_figure(lens, trace.next_tokens, step),
        key="ranks",
        alt=f"Rank of {trace.next_tokens[step]} after each layer; the other steps in grey",
    )
    st.caption(
        plain(
            f"Blue: {quoted(trace.next_tokens[step])}. The lens reads each layer with an output projection that was "
            "trained for the last one only: a layer whose prediction looks strange may know more than the lens can "
            "read (Belrose et al. 2023)."
        )
    )
