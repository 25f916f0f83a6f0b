"""The order of words: the sentence and the same words in another order, with positions and without."""

from dataclasses import replace

import streamlit as st

from headlight.app import results
from headlight.app.choices import write_line
from headlight.app.results import TranslationRequest, measures
from headlight.app.widgets import one_line, plain, show_finding
from transformer.config import Positions

from .word_order_content import WHY, describe_order, exchanged


def show(request: TranslationRequest) -> None:
    """Show both sentences with their translations, and describe the part that positions have in them. UserError."""
    loaded = results.translator(request.checkpoint)
    columns = st.columns(2, gap="medium")
    with columns[0]:
        st.caption("The sentence")
        st.markdown(f"**{one_line(request.text)}**")
    with columns[1]:
        text = write_line("The same words in another order", "reordered", exchanged(request.text), request.text)
    requests = (request, replace(request, text=text))
    language = loaded.checkpoint.data.get("target_language", "Translation")
    for column, each in zip(columns, requests, strict=True):
        with column, st.container(border=True):
            _show_translations(each, language)
    one, two = map(measures.embedding_sum, requests)
    without = tuple(map(measures.translation_without_positions, requests))
    written = tuple(results.trace(each).target_text for each in requests)
    show_finding(describe_order(one, two, written, without), "swap other words.")
    if loaded.model.config.positions != Positions.RELATIVE:
        st.markdown(WHY)


def _show_translations(request: TranslationRequest, language: str) -> None:
    """Show the translation with positions and without. Raises UserError."""
    with_them, without = results.trace(request).target_text, measures.translation_without_positions(request)
    st.markdown(f"{plain(language)}: **{one_line(with_them)}**  \nWithout positions: **{one_line(without)}**")
