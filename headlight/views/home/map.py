"""The map of one head beside the lines, and the tokens with their probabilities."""

import numpy as np
import streamlit as st

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import row_label
from headlight.app.finding import Templates
from headlight.app.head_choice import choose_heads_of
from headlight.app.results import TranslationRequest
from headlight.app.widgets import phone_container, show_figure, show_finding, show_tokens
from headlight.plots.heatmap import map_title
from headlight.plots.layout import as_written
from transformer.interpret.trace import AttentionMap, Trace, attention_map

from .content import cells_in_words, strongest_reading

_SIDE = 430  # pixels of the map
TEMPLATES = Templates.beside(__file__)


def show_map(request: TranslationRequest, trace: Trace) -> AttentionMap:
    """Show the choice of layer, head and row names above the map of that head; return the map. Raises UserError."""
    chosen = choose_heads_of(request)
    with phone_container(len(trace.source_tokens), "cross_map"):
        figure = st.container()
    shown = attention_map(trace, chosen.kind, chosen.layer, chosen.head, row_label())
    with figure:
        reading = strongest_reading(shown)
        map_of_head = plots.head(
            trace, shown.kind, layer=shown.layer, head=shown.head, rows=shown.row_label, side=_SIDE, theme="page"
        )
        cells = as_written(map_of_head)["data"][0]
        if "hovertext" in cells:
            cells["hovertext"] = np.array(cells_in_words(shown), dtype=object)
        show_figure(map_of_head, "cross_map", TEMPLATES.text("alt", title=map_title(shown)), reading or "")
        if reading:
            show_finding(reading)
    return shown


def show_tokens_of(request: TranslationRequest, trace: Trace) -> None:
    """Show the source and output tokens with their ids."""
    st.subheader(TEMPLATES.text("tokens"))
    unknown_id = results.translator(request.checkpoint).tokenizer.unknown_id
    label, caption = TEMPLATES.text("source_tokens"), TEMPLATES.text("caption")
    show_tokens(trace.source_tokens, trace.source_ids, label, unknown_id, caption)
    show_tokens(trace.target_tokens, trace.target_ids, TEMPLATES.text("output_tokens"))
