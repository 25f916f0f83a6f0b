"""Attention: what does every head of the encoder, the decoder and between them look at?"""

import streamlit as st

from components import choices, sidebar
from components.attention_views import VIEWS

st.title("Attention")
choice = sidebar.taken_choice()
view = choices.one_of("Show", tuple(VIEWS), "attention")
with sidebar.messages():
    VIEWS[view](choice)
