"""The page on the translation: its tokens joined by one head's cross-attention, and how probable each of them is."""

import streamlit as st

from headlight.app import results
from headlight.app.choices import row_label
from headlight.app.head_choice import choose_head_of
from headlight.app.results import TranslationRequest
from headlight.app.widgets import (
    phone_container,
    show_figure,
    show_finding,
    show_probabilities,
    show_tokens,
    show_translation,
)
from headlight.components.show import token_lines
from headlight.plots.heatmap import attention_map_figure, map_title
from transformer.interpret.trace import Trace, attention_map

from .lines_content import least_probable_token, lines_payload, strongest_reading

_SIDE = 430  # pixels of the map


def show_page(request: TranslationRequest) -> None:
    """Show the translation, the lines and the map of one head beside each other, then the tokens. Raises UserError."""
    trace = show_translation(request)
    left, right = st.columns([3, 2], gap="medium")
    with right:
        chosen = choose_head_of(request, averages=True)
        above = phone_container(len(trace.source_tokens), "cross_map")  # its keys
        shown = attention_map(trace, *chosen, row_label())
    with above:
        alt = f"Heatmap. {map_title(shown)}"
        reading = strongest_reading(shown)
        show_figure(attention_map_figure(shown, _SIDE), "cross_map", alt, reading or "")
    with left:
        st.markdown(f"**{map_title(shown)}**")
        token_lines(lines_payload(trace, shown), "token_lines")
        if reading:
            show_finding(reading)
        label = "Next: how each token is chosen"
        st.page_link("pages/decoding.py", label=label, icon=":material/arrow_forward:")
    _show_tokens(trace, results.translator(request.checkpoint).tokenizer.unknown_id)


def _show_tokens(trace: Trace, unknown_id: int) -> None:
    st.subheader("Tokens (subwords)")
    read = (
        "The model reads and writes tokens: words, or parts of words, which are joined here. The number is a token's "
        "id, its row in the embedding matrix; pointing at it shows it to the letter, ▁ for the blank before a word."
    )
    show_tokens(trace.source_tokens, trace.source_ids, "Source tokens with their ids", unknown_id, read)
    written = (
        "The translation's tokens, each with the probability that the model gave it (before temperature or top-k): "
        "the stronger the colour, the higher."
    )
    show_probabilities(
        trace.target_tokens,
        trace.target_probabilities.tolist(),
        trace.target_ranks.tolist(),
        "Output tokens with their probabilities",
        written,
    )
    show_finding(least_probable_token(trace))
