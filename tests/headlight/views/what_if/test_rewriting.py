"""Rewritten attention: what the address asks for, what the bars are sent, and the view with each change."""

import json

import numpy as np
import pytest
from support.pages import components, open_page, page_text, specs
from support.traced import traces, translator

from headlight.plots.what_if import candidates_figure
from headlight.views.what_if.rewriting_payload import (
    Action,
    Concerned,
    Rewriting,
    Scope,
    bars_payload,
    telling_place,
    weights_in,
)
from transformer.interpret.what_if.parsing import parse

TRACE = traces()[0]


def rewriting(action=Action.FORBID, scope=Scope.HEAD, concerned=Concerned.ONE, kind="cross", weights=None, row=2):
    return Rewriting(kind, 2, 5, scope, action, concerned, row, 1, weights)


@pytest.mark.parametrize(
    "asked, text",
    [
        (rewriting(), "forbid:cross.2.5:1@2"),
        (rewriting(Action.FOCUS, Scope.LAYER, Concerned.ON), "focus:cross.2.*:1@2-"),
        (rewriting(Action.SHIFT, Scope.KIND, Concerned.EVERY), "shift:cross.*.*:1"),
        (rewriting(Action.UNIFORM, kind="encoder"), "uniform:encoder.2.5@2"),
        (rewriting(Action.BY_HAND, weights=(0.5, 0.25, 0.25)), "given:cross.2.5:0.5,0.25,0.25@2"),
        (rewriting(Action.BY_HAND), ""),
    ],
    ids=lambda each: str(each)[:30],
)
def test_what_is_chosen_is_one_intervention(asked, text):
    assert str(asked) == text
    assert not text or parse(text) == asked.intervention


def test_weights_of_an_address_fit_the_row_or_are_none():
    assert weights_in("0.5-0.25-0.25", 3) == (0.5, 0.25, 0.25) and weights_in("1", 1) == (1.0,)
    for wrong in (
        "",
        "0.5-0.5",
        "0-0-0",
        "a-b-c",
        "2-0-0",
        "0.5--0.5-0",
        "nan-0-0",
        "1e9-0-0",
        "0.12345-0-0",
        "1-" * 9999,
    ):
        assert weights_in(wrong, 3) is None


def test_it_begins_with_the_largest_weight_between_two_words():
    for kind in ("cross", "encoder", "decoder"):
        row, key = telling_place(TRACE, (kind, 1, 3))
        weights, keys = TRACE.attention(kind)[1, 3], TRACE.fed_tokens if kind == "decoder" else TRACE.source_tokens
        assert any(letter.isalpha() for letter in keys[key]) and (kind == "cross" or row != key)
        others = [
            weights[one, other]
            for one in range(len(weights))
            for other, token in enumerate(keys)
            if any(letter.isalnum() for letter in token.strip("▁<>/s")) and (kind == "cross" or one != other)
        ]
        assert weights[row, key] == pytest.approx(max(others))


@pytest.mark.parametrize("kind, keys", [("cross", len(TRACE.source_tokens)), ("decoder", 3)])
def test_the_bars_have_the_rows_weights_of_both_runs_and_no_masked_key(kind, keys):
    asked = rewriting(kind=kind)
    target = translator().hypotheses(TRACE.source_text)[0]
    forced = translator().trace(TRACE.source_text, target=target, interventions=[str(asked)])
    payload = bars_payload(asked, TRACE, forced)
    assert len(payload["tokens"]) == len(payload["before"]) == len(payload["after"]) == keys
    before = TRACE.attention(kind)[2, 5, 2, :keys].astype(np.float64)
    np.testing.assert_allclose(payload["before"], before, atol=6e-5)
    before[1] = 0
    np.testing.assert_allclose(payload["after"], before / before.sum(), atol=2e-4)
    assert payload["key"] == 1 and bars_payload(rewriting(Action.SHIFT, kind=kind), TRACE, forced)["key"] == -1


def test_candidates_of_both_runs_stand_beside_each_other():
    old, new = np.array([0.1, 0.5, 0.2, 0.15, 0.05]), np.array([0.05, 0.1, 0.2, 0.05, 0.6])
    figure = candidates_figure(old, new, lambda id: f"<piece {id}>")
    unchanged, changed = figure.data
    assert list(unchanged.x) == [0.5, 0.2, 0.15, 0.05] and list(changed.x) == [0.1, 0.2, 0.05, 0.6]
    assert figure.layout.yaxis.ticktext[0] == "&lt;piece 1&gt;"


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("action", Action)
def test_the_view_runs_every_change_in_every_kind(action, kind):
    app = open_page(
        "pages/what_if.py",
        what_if="rewrite attention",
        rewrite=str(action),
        kind=kind,
        layer="2",
        head="3",
        rewrite_heads=str(Scope.LAYER),
        rewrite_row="3",
        rewrite_key="2",
        rewrite_weights="0.5-0.5-0",
    )
    (bars,) = components(app)
    sent = json.loads(bars.proto.json)
    assert sum(sent["after"]) == pytest.approx(1, abs=1e-3) and len(specs(app)) == 1
    unchanged = action == Action.BY_HAND and kind != "decoder"  # the weights are for three keys
    assert ("Nothing is changed yet" in page_text(app)) == unchanged
    assert (sent["before"] == sent["after"]) == unchanged


def test_places_that_are_not_there_are_those_to_begin_with():
    app = open_page("pages/what_if.py", what_if="rewrite attention", rewrite_row="99", rewrite_key="99", rewrite="x")
    assert not app.exception and "hidden from all heads of the cross-attention" in page_text(app)
