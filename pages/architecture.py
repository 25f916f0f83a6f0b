"""Architecture: what is the model made of, and what does each part do to this sentence?"""

import streamlit as st

from transformer import UserError
from ui import choices, sidebar
from ui.widgets import plain
from views.architecture import VIEWS

st.title("Architecture")
choice = sidebar.taken_choice()
view = choices.one_of("Show", tuple(VIEWS), "architecture")
try:
    VIEWS[view](choice)
except UserError as error:
    st.warning(plain(str(error)), icon=":material/edit:")
