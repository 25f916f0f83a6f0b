"""Training: how does a model come to attend as it does?"""

import streamlit as st

from transformer import UserError
from ui import choices, sidebar
from ui.widgets import plain
from views.training import VIEWS

st.title("Training")
choice = sidebar.taken_choice()
view = choices.one_of("Show", tuple(VIEWS), "training")
try:
    VIEWS[view](choice)
except UserError as error:
    st.warning(plain(str(error)), icon=":material/edit:")
