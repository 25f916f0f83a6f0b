"""Logits: how does the decoder's last vector become a word?"""

import streamlit as st

from transformer import UserError
from ui import choices, sidebar
from ui.widgets import plain
from views.logits import VIEWS

st.title("Logits")
choice = sidebar.taken_choice()
view = choices.one_of("Show", tuple(VIEWS), "logits")
try:
    VIEWS[view](choice)
except UserError as error:
    st.warning(plain(str(error)), icon=":material/edit:")
