"""The whole pass as one moving picture, from the words of the sentence to the words of its translation."""

import streamlit as st

from headlight.app import results, url_state
from headlight.app.results import TranslationRequest
from headlight.app.widgets import show_warnings
from headlight.components.show import whole_pass
from transformer.errors import UserError

from .whole_pass_content import MOST_TOKENS, pass_facts

# In the session: the page that a click leads to and its address; the moment in the component's facts, and the one that
# the browser has reported since.
_GOING, _MOMENT = "whole_pass_going", "whole_pass_moment"


def show(request: TranslationRequest) -> None:
    """Show the moving picture of the request's sentence; open the page that a click on it led to. Raises UserError."""
    if going := st.session_state.pop(_GOING, None):
        page, query = going
        st.switch_page(f"pages/{page}.py", query_params=query)
    model, trace = results.translator(request.checkpoint).model, results.trace(request)
    show_warnings(request)
    if (tokens := max(len(trace.source_ids), len(trace.target_ids))) > MOST_TOKENS:
        raise UserError(f"The whole pass is drawn for at most {MOST_TOKENS} tokens on each side; here are {tokens}.")
    facts = pass_facts(trace, results.residual_stream(request), model, _moment_of_facts())
    whole_pass(facts, "whole_pass", _remember, _go)


def _moment_of_facts() -> str:
    """Return the moment of the address, or the last one while the browser chooses: equal facts are not sent again."""
    moment = url_state.read("moment")
    sent, reported = st.session_state.get(_MOMENT, ("", ""))
    sent = sent if moment == reported else moment
    st.session_state[_MOMENT] = sent, moment
    return sent


def _remember(moment: str) -> None:
    url_state.write("moment", moment)
    st.session_state[_MOMENT] = st.session_state[_MOMENT][0], moment


def _go(page: str, query: dict[str, str]) -> None:
    """Open a page with the next run; another view of this page at once."""
    if page == "inside":
        st.session_state["inside"] = query.pop("inside")
        url_state.write_all(query)
    else:
        st.session_state[_GOING] = page, query
