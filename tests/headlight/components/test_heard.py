"""Whom a component's report reaches: nobody once its page or its view has been left."""

import pytest
import streamlit as st

from headlight.components import show


class Session(dict):
    """As Streamlit's own, which refuses a name that is empty."""

    def get(self, name, default=None):
        assert name
        return super().get(name, default)


@pytest.fixture
def shown(monkeypatch):
    """A session in which a component is shown, and what it is declared with."""
    session, declared = Session(), {}
    monkeypatch.setattr(st, "session_state", session)
    monkeypatch.setattr(show, "_declare", lambda entry: lambda **given: declared.update(given))
    return session, declared


def test_a_report_that_comes_along_with_the_choice_of_another_view_reaches_nobody(shown):
    session, declared = shown
    heard = []
    session |= {show.SHOWN_VIEW: ("training", "replay"), "training": "replay"}
    show.beam_tree({}, "tree", heard.append)
    session["tree"] = {"choice": "1.2"}
    declared["on_choice_change"]()
    assert heard == ["1.2"]
    session["training"] = "train live"
    declared["on_choice_change"]()
    assert heard == ["1.2"]


def test_before_any_page_with_views_a_report_is_heard(shown):
    session, declared = shown
    heard = []
    show.beam_tree({}, "tree", heard.append)
    session["tree"] = {"choice": "7"}
    declared["on_choice_change"]()
    assert heard == ["7"]


def test_a_report_of_a_page_that_was_left_reaches_nobody_and_one_of_a_page_without_views_is_heard(shown):
    session, declared = shown
    heard = []
    session[show.SHOWN_VIEW] = "training", "replay"  # of the page before, whose widget is gone
    show.beam_tree({}, "tree", heard.append)
    declared["on_choice_change"]()
    assert heard == []
    session["tree"] = {"choice": "3"}
    declared["on_choice_change"]()
    assert heard == ["3"]
