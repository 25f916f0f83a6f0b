"""Rewritten attention: interventions of an address, facts for the bars, and the view with each change."""

import numpy as np
import pytest
from support.pages import open_page, payload, specs
from support.traces import translator

from headlight.views.what_if.facts import rewriting_facts
from headlight.views.what_if.rewriting import (
    CONCERNED,
    SCOPES,
    Action,
    bars_payload,
    heads_of,
    interventions_of,
    rows_of,
    weights_in,
)
from transformer.interpret.what_if.intervention import parse
from transformer.model.heads import Head


def chosen(action, scope=SCOPES[2], concerned=CONCERNED[2], kind="cross", weights=None):
    return interventions_of(action, heads_of(scope, Head(kind, 2, 5)), rows_of(concerned, 2), 1, weights)


@pytest.mark.parametrize(
    "change, text",
    [
        (chosen(Action.FORBID), "forbid:cross.2.5:1@2"),
        (chosen(Action.FOCUS, SCOPES[1], CONCERNED[1]), "focus:cross.2.*:1@2-"),
        (chosen(Action.SHIFT, SCOPES[0], CONCERNED[0]), "shift:cross.*.*:1"),
        (chosen(Action.UNIFORM, kind="encoder"), "uniform:encoder.2.5@2"),
        (chosen(Action.BY_HAND, weights=(0.5, 0.25, 0.25)), "given:cross.2.5:0.5,0.25,0.25@2"),
    ],
)
def test_a_choice_is_one_intervention(change, text):
    assert change == (parse(text),)


def test_weights_of_an_address_fit_the_row_or_are_none():
    assert weights_in("0.5-0.25-0.25", 3) == (0.5, 0.25, 0.25) and weights_in("1", 1) == (1.0,)
    for wrong in ("", "0.5-0.5", "0-0-0", "a-b-c", "2-0-0", "0.5--0.5-0", "nan-0-0", "0.12345-0-0"):
        assert weights_in(wrong, 3) is None
    assert weights_in("1-" * 9999, 9999) is None and not chosen(Action.BY_HAND)


@pytest.mark.parametrize("kind", ["cross", "decoder"])
def test_the_bars_have_the_rows_weights_of_both_runs_and_no_masked_key(kind):
    target = translator().hypotheses("I love my teacher.")[0]
    trace, forced = (
        translator().trace("I love my teacher.", target=target, interventions=change)
        for change in ((), chosen(Action.FORBID, kind=kind))
    )
    keys = len(trace.source_tokens) if kind == "cross" else 3
    payload = bars_payload(Head(kind, 2, 5), 2, 1, trace, forced)
    assert len(payload["tokens"]) == len(payload["before"]) == len(payload["after"]) == keys and payload["key"] == 1
    before = trace.attention(kind)[2, 5, 2, :keys].astype(np.float64)
    np.testing.assert_allclose(payload["before"], before, atol=6e-5)
    before[1] = 0
    np.testing.assert_allclose(payload["after"], before / before.sum(), atol=2e-4)


@pytest.mark.parametrize(
    ("action", "kind"), [*((each, "cross") for each in Action), (Action.FORBID, "encoder"), (Action.BY_HAND, "decoder")]
)
def test_the_view_runs_every_change(action, kind):
    query = {"what_if": "rewrite attention", "rewrite": str(action), "head": f"{kind}.2.3", "rewrite_heads": SCOPES[1]}
    query |= {"rewrite_row": "3", "rewrite_key": "2", "rewrite_weights": "0.5-0.5-0"}
    app = open_page("pages/what_if.py", **query)
    sent, outcome = payload(app), payload(app, 1)
    assert (sent["key"] == 1) == (action in (Action.FORBID, Action.FOCUS))
    assert sum(sent["after"]) == pytest.approx(1, abs=1e-3) and not specs(app)
    unchanged = action == Action.BY_HAND and kind != "decoder"  # the weights are for three keys
    assert (sent["before"] == sent["after"]) == (outcome["change"] is None) == unchanged


def test_a_change_is_sent_with_its_heads_rows_and_token():
    (change,) = chosen(Action.FOCUS, SCOPES[1], CONCERNED[1])
    heads, rows = {"kind": "cross", "layer": 2, "head": None}, {"first": 2, "last": None}
    assert rewriting_facts(change) == {"action": "focus", "heads": heads, "key": 1, "rows": rows}
