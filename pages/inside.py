"""Inside attention: where does each number of an attention block come from?"""

import streamlit as st

from transformer import UserError
from ui import choices, sidebar
from ui.widgets import plain
from views.inside import VIEWS

st.title("Inside attention")
choice = sidebar.taken_choice()
view = choices.one_of("Show", tuple(VIEWS), "inside")
try:
    VIEWS[view](choice)
except UserError as error:
    st.warning(plain(str(error)), icon=":material/edit:")
