"""The page Decoding: a translation step by step, the choice of one step, and beam search."""

from dataclasses import replace

import streamlit as st

from headlight.app.choices import view_of
from headlight.app.navigation import beside_title
from headlight.app.results import TranslationRequest

from . import beam_search, candidates, player
from .prefix import forced_ids

VIEWS = {"step by step": player.show, "candidates": candidates.show, "beam search": beam_search.show}


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    request = replace(request, prefix=forced_ids(request))
    with beside_title():
        row = st.container(horizontal=True, gap="medium", vertical_alignment="center")
    with row:
        view = view_of(tuple(VIEWS), "decoding_view")
    VIEWS[view](request, row)
