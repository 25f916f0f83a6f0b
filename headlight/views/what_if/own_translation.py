"""A translation of the reader's own, teacher-forced: what the model gives each of its tokens, and where it differs."""

from dataclasses import replace

import streamlit as st

from headlight.app import results
from headlight.app.figures import show_figure
from headlight.app.results import TranslationRequest, what_if
from headlight.app.selectors import write_line
from headlight.app.sentences import show_translation
from headlight.app.widgets import plain, show_attempt, show_finding
from headlight.plots.text import pluralize
from headlight.plots.what_if import sums_figure
from headlight.views.attention import explorer
from transformer import Beam

from .own_translation_content import describe_own, describe_where, own_translation_html


def show(request: TranslationRequest) -> None:
    """Show the field, both translations token under token, and how log P adds up. Raises UserError."""
    model = results.trace(request)
    show_translation(request)
    text = write_line("Your translation", "own_target", what_if.second_best(request), repr(request))
    own = what_if.given_trace(request, text)
    unknown = results.translator(request.checkpoint).tokenizer.unknown_id
    if count := own.target_ids.count(unknown):
        words = f"The model has no token for {pluralize(count, 'part')} of your translation: read as <unk>."
        st.warning(plain(words), icon=":material/help:")
    st.html(own_translation_html(own, model))
    st.caption(
        "The model is fed your tokens one after the other and asked what comes next. A frame marks a token that is not "
        "its first candidate: below stands what it would have written there. Look for the strongest orange: that is "
        "where your translation is least expected."
    )
    ids = (
        [one.ids for one in results.hypotheses(replace(request, rank=1))] if isinstance(request.strategy, Beam) else []
    )
    see = f"{describe_own(own, model, ids)} {describe_where(own)}"
    show_finding(see)
    alt = "Log P of both translations, added up token by token"
    show_figure(sums_figure(own, model), "own_translation", alt, see)
    maps = st.expander("All attention maps of your translation", key="own_maps", on_change="rerun")
    if maps.open:  # measuring all heads takes as long as the rest of the page
        with maps:
            explorer.show_heads(request, own)
    show_attempt(
        "Try another order of the words, a synonym, then a mistake of grammar or a wrong sense: which costs most, and "
        "is a good translation ever improbable? The model's probability is no judgement of a translation."
    )
