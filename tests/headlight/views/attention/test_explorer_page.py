"""The explorer through Streamlit's test runner: the bytes it receives and its address."""

import dataclasses

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.pages import components, open_page, payload, unpack_facts

from headlight.app.facts import STEPS
from headlight.views.attention.explorer_content import KINDS, describe_sinks, explorer_blob
from transformer.corpus.head_roles import find_roles, plainest_head
from transformer.interpret.head_patterns import measure_heads
from transformer.interpret.trace import Trace, keys_of, masked_maps

PAGE = "pages/attention.py"
FIRST = "I love my teacher."
START = {"query": "", "key": "", "view": "map", "rows": "output token", "label": "all"}


def four_decimals(weights: np.ndarray) -> list[str]:
    return [f"{weight:.4f}" for weight in weights.ravel()]


@pytest.fixture(scope="module")
def trace(shipped) -> Trace:
    return shipped.trace(FIRST)


def test_every_weight_that_is_sent_is_the_models_to_four_decimals(trace):
    tricky = np.random.default_rng(1).random(trace.encoder.shape, dtype=np.float32)
    tricky.flat[:4] = 0, 1, 0.00005001, 0.86294997
    trace = dataclasses.replace(trace, encoder=tricky)
    facts, maps = unpack_facts(explorer_blob(trace))
    for name in ("source_tokens", "decoder_input_tokens", "target_tokens"):
        assert tuple(facts[name]) == getattr(trace, name)
    for kind in KINDS:
        assert four_decimals(maps[kind] / STEPS) == four_decimals(trace.attention(kind))


def test_patterns_and_roles_are_sent_head_by_head(shipped, checkpoints, trace):
    roles = find_roles(checkpoints / "en-de", shipped.model)
    facts, _ = unpack_facts(explorer_blob(trace, roles))
    assert facts["sentences"] == roles.sentences > 0 and unpack_facts(explorer_blob(trace))[0]["sentences"] is None
    for kind in KINDS:
        measured = measure_heads(kind, masked_maps(trace, kind), keys_of(trace, kind), trace.target_tokens)
        patterns = facts["patterns"][kind]
        assert patterns["labels"] == [head.label for head in measured]
        np.testing.assert_allclose(patterns["entropy"], [head.entropy for head in measured], atol=1e-6)
        for name, rows in patterns["counts"].items():
            assert rows == [[head.counts[name].rows, head.counts[name].eligible] for head in measured]
    assert "alignment" in facts["patterns"]["cross"]["counts"]
    assert "alignment" not in facts["patterns"]["encoder"]["counts"], "there is nothing to align with"
    assert "next" not in facts["patterns"]["decoder"]["counts"], "it is masked"


def test_without_an_address_the_explorer_begins_with_the_plainest_head(checkpoints, shipped, trace):
    app, roles = open_page(PAGE), find_roles(checkpoints / "en-de", shipped.model)
    head = plainest_head(trace, "cross", roles).address
    assert payload(app) == START | {"head": head}
    assert not app.query_params, "it is the default"
    facts, maps = unpack_facts(components(app)[1].proto.bytes)
    assert tuple(facts["target_tokens"]) == trace.target_tokens
    assert maps.keys() == set(KINDS) and maps["cross"].shape == trace.cross.shape


def test_the_url_restores_the_choice():
    query = {"head": "decoder.1.2-decoder.3.8", "query": "", "key": "2.4"}
    query |= {"view": "lines", "rows": "input token", "label": "none"}
    assert set(query) == {*START, "head"}
    assert payload(open_page(PAGE, **query)) == query


def test_a_choice_goes_into_the_address():
    def page(choice):
        from headlight.views.attention.explorer import write_choice

        write_choice(choice)

    for head in ("cross.3.5", "cross.3.5-cross.1.1"):
        app = AppTest.from_function(page, args=(START | {"head": head, "query": "2", "rows": "input token"},)).run()
        assert not app.exception
        written = {name: "".join(app.query_params[name]) for name in app.query_params}
        assert written == {"head": head, "query": "2", "rows": "input token"}


def test_links_of_the_page_lead_to_the_chosen_head_and_token():
    app = open_page(PAGE, head="encoder.2.3-encoder.1.1", query="4")
    why, inside = app.get("page_link")
    assert why.proto.query_string == "research=why+this+cell&head=encoder.2.3&query=4"
    assert inside.proto.query_string == "inside=step+by+step&head=encoder.2.3&at_step=softmax&query=4"
    assert not [each for each in open_page(PAGE, key="2.3").get("page_link") if "key=" in each.proto.query_string]
    app.button(key="open_one head").click().run()
    assert payload(app)["name"] == "encoder self-attention layer 2, head 3"


def test_attention_without_content_is_described_where_most_is(trace):
    resting = np.zeros_like(trace.cross)
    resting[..., -1], resting[..., 0] = 0.75, 0.25
    assert "75 % of this model’s cross-attention" in describe_sinks(dataclasses.replace(trace, cross=resting))
    resting[..., -1], resting[..., 0] = 0.5, 0.5
    assert describe_sinks(dataclasses.replace(trace, cross=resting)) == ""
