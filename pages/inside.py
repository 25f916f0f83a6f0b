"""Inside attention: where does each number of an attention block come from?"""

import streamlit as st

from components import choices, sidebar
from components.inside_views import VIEWS
from components.text import plain
from transformer import UserError

st.title("Inside attention")
choice = sidebar.taken_choice()
view = choices.one_of("Show", tuple(VIEWS), "inside")
try:
    VIEWS[view](choice)
except UserError as error:
    st.warning(plain(str(error)), icon=":material/edit:")
