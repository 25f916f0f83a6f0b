"""Reports of components: ignored once their page or their view has been left."""

import pytest
import streamlit as st

from headlight.components import show


@pytest.fixture
def session(monkeypatch) -> dict:
    state: dict = {}
    monkeypatch.setattr(st, "session_state", state)
    return state


@pytest.fixture
def report(session, monkeypatch):
    """Return a function that reports a choice of a beam tree, which adds it to the session's "choices"."""
    handlers: dict = {}
    monkeypatch.setattr(show, "_declare", lambda entry: lambda **options: handlers.update(options))
    session["choices"] = []
    show.beam_tree({}, "tree", session["choices"].append)

    def report(choice: str | None) -> None:
        if choice:
            session["tree"] = {"choice": choice}
        handlers["on_choice_change"]()

    return report


def test_a_report_of_another_view_is_ignored(session, report):
    session |= {show.SHOWN_VIEW: ("training", "replay"), "training": "replay"}
    report("1.2")
    session["training"] = "train live"
    report("3")
    assert session["choices"] == ["1.2"]


def test_a_report_of_another_page_is_ignored(session, report):
    session[show.SHOWN_VIEW] = "training", "replay"  # of the page before, whose widget is gone
    report(None)
    report("3")
    session.pop("tree")
    report(None)
    assert session["choices"] == ["3"]


def test_a_report_of_a_page_without_views_is_handled(session, report):
    report("7")
    assert session["choices"] == ["7"]
