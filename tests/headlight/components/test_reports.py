"""Reports of components: ignored once their page or their view has been left."""

import pytest
import streamlit as st

from headlight.components import show

REPLAY = {show.SHOWN_VIEW: ("training", "replay")}


@pytest.mark.parametrize(
    ("session", "handled"),
    [
        ({"tree": {"choice": "7"}}, ["7"]),  # a page without views
        ({**REPLAY, "training": "replay", "tree": {"choice": "7"}}, ["7"]),
        ({**REPLAY, "training": "train live", "tree": {"choice": "7"}}, []),  # another view was chosen
        ({**REPLAY, "training": "replay"}, []),  # the component is gone
    ],
)
def test_a_report_is_handled_while_its_view_is_shown(session, handled, monkeypatch):
    handlers: dict = {}
    choices: list[str] = []
    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(show, "_declare", lambda entry: lambda **options: handlers.update(options))
    show.beam_tree({}, "tree", choices.append)
    st.session_state.update(session)
    handlers["on_choice_change"]()
    assert choices == handled
