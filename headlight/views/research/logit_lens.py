"""Logit lens: the prediction of each decoder layer."""

import streamlit as st

from headlight.app import results
from headlight.app.choices import choose_step
from headlight.app.results import TranslationRequest
from headlight.app.widgets import (
    plain,
    show_figure,
    show_finding,
    show_table,
    show_translation,
)
from headlight.plots.decoding import (
    ranks_figure,
)
from headlight.plots.text import norm_name, quoted, token_cells
from headlight.views.research.logits_content import (
    describe_lens,
    lens_rows,
)
from transformer.config import Positions


def show(request: TranslationRequest) -> None:
    """Show what each decoder layer would have predicted, layers by steps, then the ranks. Raises UserError."""
    translator, trace = results.translator(request.checkpoint), show_translation(request)
    lens = results.lens(request)
    config = translator.model.config
    norm = f"put through the output projection as they are, for each layer ends with a {norm_name(config)}"
    if config.norm == "pre":
        norm = f"put through the stack's last {norm_name(config)} and the output projection"
    adds_none = config.positions in (Positions.NONE, Positions.RELATIVE)
    start = "fed token's embedding" if adds_none else "fed token with its position"
    label, rows = "The logit lens: layers by steps", lens_rows(lens, translator.tokenizer.piece_text)
    see = describe_lens(lens, trace)
    with st.container():  # what is said of the table stays with it where the window is low
        st.markdown(
            "What if the decoder stopped early? **Bold** is each layer's top-1 prediction; below it stand probability "
            "and rank of the token that comes in the end."
        )
        show_table(
            label, "comes in the end", token_cells(trace.target_tokens), rows, shades=lens.probabilities.tolist()
        )
        st.caption(f"The vectors after each layer are {norm}. “Start” is the {start}. The bluer, the more probable.")
        show_finding(see)
    st.subheader("How the final token rises")
    step = choose_step(trace)
    alt = f"Rank of {trace.target_tokens[step]} after each layer; the other steps in grey"
    show_figure(ranks_figure(lens, trace.target_tokens, step), "ranks", alt, see)
    st.caption(
        plain(f"Blue: {quoted(trace.target_tokens[step])}.") + " The output projection was trained for the last layer "
        "only: an earlier one may know more than the lens can read (Belrose et al. 2023)."
    )
