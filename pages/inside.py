"""Inside attention: every number of one attention block, recomputed before the reader's eyes."""

import streamlit as st

from components import sidebar, stages_view

st.title("Inside attention")
choice = sidebar.taken_choice()
with sidebar.messages():
    stages_view.show(choice)
