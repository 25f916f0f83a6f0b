"""Reports of components: ignored once their page or their view has been left."""

from types import SimpleNamespace

import pytest
import streamlit as st

from headlight.components import show

REPLAY, LIVE = (SimpleNamespace(view=("training", view)) for view in ("replay", "train live"))


@pytest.mark.parametrize(
    ("session", "handled"),
    [
        ({show.STATE: REPLAY, "tree": {"choice": "7"}}, ["7"]),
        ({show.STATE: LIVE, "tree": {"choice": "7"}}, []),  # another view was chosen
        ({show.STATE: REPLAY}, []),  # the component is gone
    ],
)
def test_a_report_is_handled_while_its_view_is_shown(session, handled, monkeypatch):
    handlers: dict = {}
    choices: list[str] = []
    monkeypatch.setattr(st, "session_state", {show.STATE: REPLAY})
    monkeypatch.setattr(show, "_declare", lambda entry, language: lambda **options: handlers.update(options))
    show.beam_tree({}, "tree", choices.append)
    st.session_state.clear()
    st.session_state.update(session)
    handlers["on_choice_change"]()
    assert choices == handled
