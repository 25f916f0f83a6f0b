"""Attention: what does every head of the encoder, the decoder and between them look at?"""

import streamlit as st

from ui import choices, sidebar
from views.attention import VIEWS

st.title("Attention")
choice = sidebar.taken_choice()
view = choices.one_of("Show", tuple(VIEWS), "attention")
with sidebar.messages():
    VIEWS[view](choice)
