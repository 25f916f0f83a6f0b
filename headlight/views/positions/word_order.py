"""The order of words: the sentence and the same words in another order, with positions and without."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import line
from headlight.app.finding import Templates
from headlight.app.results import TranslationRequest
from headlight.app.widgets import one_line, plain, show_figure, show_finding
from headlight.language import name_of_language
from headlight.plots.names import sentence_case
from transformer.config import Positions
from transformer.interpret.positions import position_rows

from .word_order_content import describe_order, exchanged

TEMPLATES = Templates.beside(__file__)
TABLES = Positions.SINUSOIDAL, Positions.MULTIPLIED, Positions.LEARNED  # kinds with a vector for each position
NAMES = "sentence", "other_order"
DIMENSIONS = 64  # drawn, the first ones: those of the fastest waves


def show(request: TranslationRequest) -> None:
    """Show both sentences with their translations, and describe the part that positions have in them. UserError."""
    loaded = results.translator(request.checkpoint)
    if has_rows := loaded.model.config.positions in TABLES:
        with st.container():
            st.markdown(TEMPLATES.text("why"))
    columns = st.columns(2, gap="medium")
    # In a container, so that a phone leaves the sentence above its picture.
    with columns[0], st.container(key="first_order"):
        st.markdown(TEMPLATES.text("sentence", text=one_line(request.text)))
    with columns[1]:
        text = line("reordered", exchanged(request.text))
    requests = (request, replace(request, text=text))
    language = name_of_language(loaded.checkpoint.data.get("target_language", TEMPLATES.text("translation")))
    first, second = studies = tuple(map(results.study, requests))
    written, without = tuple(each.trace.target_text for each in studies), first.translations_without_positions(second)
    for column, name, *texts in zip(columns, NAMES, written, without, strict=True):
        with column, st.container(border=True, key=f"translations_of_{name}"):
            with_them, blind = map(one_line, texts)
            names = {"language": plain(sentence_case(language)), "with_them": with_them, "without": blind}
            st.markdown(TEMPLATES.text("translations", **names))
    one, two = sums = tuple(study.embedding_sum() for study in studies)
    for column, each, name in zip(columns, sums, NAMES, strict=True):
        if has_rows:
            with column:
                _show_rows(position_rows(loaded.model)[: len(each.tokens), :DIMENSIONS], each.tokens, name)
    show_finding(describe_order(one, two, written, without), TEMPLATES.text("attempt"))


def _show_rows(table: np.ndarray, tokens: Sequence[str], name: str) -> None:
    """Show the vectors that the encoder adds to the tokens of a sentence, row by row."""
    alt = TEMPLATES.text("alt", dimensions=table.shape[1])
    show_figure(plots.positions(table, tokens, theme="page"), f"rows_of_{name}", alt)
