"""Architecture: what is the model made of, and what does each part do to this sentence?"""

import streamlit as st

from components import choices, sidebar
from components.architecture_views import VIEWS
from components.text import plain
from transformer import UserError

st.title("Architecture")
choice = sidebar.taken_choice()
view = choices.one_of("Show", tuple(VIEWS), "architecture")
try:
    VIEWS[view](choice)
except UserError as error:
    st.warning(plain(str(error)), icon=":material/edit:")
