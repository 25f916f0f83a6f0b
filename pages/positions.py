"""Positional encoding: how does the model know in which order the words stand?"""

import streamlit as st

import session
from transformer import UserError
from transformer.interpret.positions import model_encoding
from ui import choices, sidebar
from ui.widgets import plain
from views.positions.views import VIEWS, chosen_settings, show_adding

st.title("Positional encoding")
st.markdown(
    "Attention alone does not know in which order the words stand: it reads a set. So a vector that depends on the "
    "position alone is added to each embedding (Vaswani et al. 2017, 3.5), made of waves from fast to slow:"
)
st.latex(
    r"\begin{aligned} PE_{(pos,\,2i)} &= \sin\big(pos \,/\, base^{2i/d_{model}}\big) \\ "
    r"PE_{(pos,\,2i+1)} &= \cos\big(pos \,/\, base^{2i/d_{model}}\big) \end{aligned}"
)
choice = sidebar.taken_choice()
with sidebar.messages():
    translator = session.translator(choice.checkpoint)
view = choices.one_of("Show", (*VIEWS, "adding"), "positions")
if view == "adding":
    with sidebar.messages():
        trace = session.trace(choice.checkpoint, choice.text, choice.strategy)
    show_adding(translator, trace)
else:
    try:
        VIEWS[view](chosen_settings(), model_encoding(translator.model))
    except UserError as error:
        st.warning(plain(str(error)), icon=":material/edit:")
