"""Logits: how does the decoder's last vector become a word?"""

import streamlit as st

from components import choices, sidebar
from components.logits_views import VIEWS
from components.text import plain
from transformer import UserError

st.title("Logits")
choice = sidebar.taken_choice()
view = choices.one_of("Show", tuple(VIEWS), "logits")
try:
    VIEWS[view](choice)
except UserError as error:
    st.warning(plain(str(error)), icon=":material/edit:")
