"""The page on the inside of the model: one view at a time."""

import streamlit as st

from headlight.app.choices import show_views
from headlight.app.results import TranslationRequest

from . import masks, scaling, steps, toy, whole_pass

VIEWS = {
    "the whole pass": whole_pass.show,
    "step by step": steps.show,
    "small example": toy.show,
    "why √d_k": scaling.show,
    "masks": masks.show,
}
# Names in an address without a view: they belong to "step by step", once the first view.
_OF_STEPS = ("head", "query", "key", "at_dimension", "at_step", "rows")


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    is_chosen = any("inside" in names for names in (st.query_params, st.session_state)) or "moment" in st.query_params
    if not is_chosen and any(name in st.query_params for name in _OF_STEPS):
        st.session_state["inside"] = "step by step"
    show_views(VIEWS, "inside", request)
