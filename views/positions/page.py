"""The page on positional encoding: its formula, and what it does alone and beside the embeddings."""

import streamlit as st

import session
from session import Choice
from transformer.interpret.positions import model_encoding
from ui.choices import one_of

from . import views

_OF_ENCODINGS = {
    "curves": views.show_curves,
    "matrix": views.show_matrix,
    "similarity": views.show_similarity,
    "wavelengths": views.show_wavelengths,
    "rotation": views.show_rotation,
}
VIEWS = (*_OF_ENCODINGS, "embedding sum")


def show_page(choice: Choice) -> None:
    """The formula, then a view. Raises UserError."""
    st.markdown(
        "Attention alone does not know in which order the words stand: it reads a set. So a vector that depends on the "
        "position alone is added to each embedding (Vaswani et al. 2017, 3.5), made of waves from fast to slow:"
    )
    st.latex(
        r"\begin{aligned} PE_{(pos,\,2i)} &= \sin\big(pos \,/\, base^{2i/d_{model}}\big) \\ "
        r"PE_{(pos,\,2i+1)} &= \cos\big(pos \,/\, base^{2i/d_{model}}\big) \end{aligned}"
    )
    own = model_encoding(session.translator(choice.checkpoint).model)
    view = one_of("Show", VIEWS, "positions")
    if view in _OF_ENCODINGS:
        _OF_ENCODINGS[view](views.chosen_settings(), own)
    else:
        views.show_sum(choice)
