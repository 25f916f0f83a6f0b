"""Training: how does a model come to attend as it does?"""

import streamlit as st

from components import choices, sidebar
from components.text import plain
from components.training_views import VIEWS
from transformer import UserError

st.title("Training")
choice = sidebar.taken_choice()
view = choices.one_of("Show", tuple(VIEWS), "training")
try:
    VIEWS[view](choice)
except UserError as error:
    st.warning(plain(str(error)), icon=":material/edit:")
