"""The whole pass as one moving picture, from the words of the sentence to the words of its translation."""

import streamlit as st

from headlight.app import results, state
from headlight.app.results import TranslationRequest
from headlight.app.widgets import show_warnings
from headlight.components.show import whole_pass

from .whole_pass_content import pass_facts

# In the session: the moment in the component's facts, and the one that the browser has reported since.
_MOMENT = "whole_pass_moment"


def show(request: TranslationRequest) -> None:
    """Show the moving picture of the request's sentence. Raises UserError."""
    model, trace = results.translator(request.checkpoint).model, results.trace(request)
    show_warnings(request)
    facts = pass_facts(trace, results.study(request).stream(), model, _moment_of_facts())
    whole_pass(facts, "whole_pass", _remember, _go)


def _moment_of_facts() -> str:
    """Return the moment of the address, or the last one while the browser chooses: equal facts are not sent again."""
    moment = state.value("moment")
    sent, reported = st.session_state.get(_MOMENT, ("", ""))
    sent = sent if moment == reported else moment
    st.session_state[_MOMENT] = sent, moment
    return sent


def _remember(moment: str) -> None:
    state.go(moment=moment)
    st.session_state[_MOMENT] = st.session_state[_MOMENT][0], moment


def _go(page: str, query: dict[str, str]) -> None:
    """Open a page, or another view of this one, with the next run."""
    if page == "inside":
        state.go(**query)
    else:
        state.leave_for(page, **query)
