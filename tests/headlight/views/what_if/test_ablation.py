"""Switches of heads: facts of their importance by hand, and the view with both translations."""

import numpy as np
import pytest
from support.pages import fact_array, open_page, payload

from headlight.views.what_if.facts import importance_facts
from transformer.interpret.what_if.importance import HeadImportance
from transformer.model.head_ref import HeadRef


def importance(turned=()):
    """Of a model with 2 encoder layers, 1 decoder layer, 3 heads; a translation of three tokens."""
    shapes = {"encoder": (2, 3), "decoder": (1, 3), "cross": (1, 3)}
    losses = {kind: np.zeros((*shape, 3)) for kind, shape in shapes.items()}
    losses["cross"][0, 1], losses["encoder"][1, 2], losses["decoder"][0, 0] = [0.5, 1, 0], [0.2, 0.1, 0], [-0.3, 0, 0]
    turns = {kind: np.zeros(shape, dtype=bool) for kind, shape in shapes.items()}
    for kind, layer, head in turned:
        turns[kind][layer, head] = True
    return HeadImportance(**losses, log_probabilities=np.array([-0.1, -0.2, 0]), turned=turns)


def test_it_begins_with_the_head_that_turns_the_translation_else_with_the_greatest_loss():
    assert importance().default_head() == HeadRef("cross", 0, 1)
    assert importance([("encoder", 0, 0), ("encoder", 1, 2)]).default_head() == HeadRef("encoder", 1, 2)


def test_each_head_is_sent_with_the_loss_of_each_token():
    facts = {(one["kind"], one["layer"], one["head"]): one for one in importance_facts(importance([("decoder", 0, 2)]))}
    assert len(facts) == 12 and facts["cross", 0, 1]["losses"] == [0.5, 1, 0]
    assert [head for head, one in facts.items() if one["turned"]] == [("decoder", 0, 2)]


@pytest.mark.parametrize("ablated_by", ["zero", "mean", "uniform"])
def test_the_view_switches_off_the_heads_of_the_address(ablated_by):
    app = open_page("pages/what_if.py", off="cross.3.4-encoder.9.9-encoder.1.2", ablated_by=ablated_by)
    switches, table = payload(app), payload(app, 1)
    assert switches["off"] == "cross.3.4-encoder.1.2" and switches["ablation"] == ablated_by
    heads = {"kind": "cross", "layer": 2, "head": 3}, {"kind": "encoder", "layer": 0, "head": 1}
    assert table["change"] == {"off": list(heads)}
    forced, before = (fact_array(table[run]["target_probabilities"]) for run in ("forced", "before"))
    lost = {(one["kind"], one["layer"], one["head"]): one["losses"] for one in switches["importance"]}
    assert len(before) == len(forced) == len(lost["cross", 2, 3]) and (before != forced).any()
    sides = [len(table["before"][side]) for side in ("target_ids", "source_ids")]
    assert table["before"]["reads"]["shape"] == sides


def test_with_all_heads_on_nothing_is_compared():
    assert payload(open_page("pages/what_if.py", off="none"), 1).keys() == {"before", "importance"}
