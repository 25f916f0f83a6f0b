"""The explorer through Streamlit's own test runner: the bytes it is sent, what the URL restores, bad input."""

import dataclasses
import json
from functools import cache

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.pages import components, open_page
from support.traces import replayed

from headlight.views.attention.explorer_content import KINDS, describe_sinks, explorer_blob
from transformer import Translator
from transformer.corpus.atlas.roles import find_roles
from transformer.corpus.head_roles import load_roles, plainest_head
from transformer.files import shipped_checkpoints
from transformer.interpret.head_patterns import Pattern, measure_heads
from transformer.interpret.trace import keys_of, masked_maps
from transformer.model.head_ref import HeadRef
from transformer.model.names import AttentionKind

PAGE = "pages/attention.py"
FIRST = "I love my teacher."
START = {"query": "", "key": "", "view": "map", "rows": "both tokens", "label": "all"}


@cache
def first_head() -> str:
    """The head of the first sentence that nobody has chosen, as an address has it."""
    loaded, folder = Translator.load("en-de", "cpu"), shipped_checkpoints() / "en-de"
    layer, head = plainest_head(loaded.trace(FIRST), "cross", find_roles(folder, loaded.model))
    return HeadRef(AttentionKind.CROSS, layer, head).address


def sent(app: AppTest) -> tuple[dict, bytes]:
    """The choice and the bytes that the page sent to the explorer."""
    choice, explorer = components(app)
    return json.loads(choice.proto.json), explorer.proto.bytes


def unpack(blob: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """The facts and each kind's weights, read as the explorer reads them."""
    length = int.from_bytes(blob[:4], "little")
    facts = json.loads(blob[4 : 4 + length])
    weights, maps = np.frombuffer(blob[4 + length :], "<u2") / facts["steps"], {}
    for name, shape in facts["arrays"].items():
        maps[name], weights = weights[: np.prod(shape)].reshape(shape), weights[np.prod(shape) :]
    return facts, maps


def first_of(value: str | list[str]) -> str:
    return value if isinstance(value, str) else value[0]


def four_decimals(weights: np.ndarray) -> list[str]:
    return [f"{weight:.4f}" for weight in weights.ravel()]


@pytest.fixture(scope="module")
def first(shipped):
    """The page without an address, and the trace of its sentence."""
    return open_page(PAGE), replayed(shipped, FIRST)


def test_every_weight_that_is_sent_is_the_models_to_four_decimals(first):
    app, trace = first
    facts, maps = unpack(sent(app)[1])
    assert facts["source_tokens"] == list(trace.source_tokens)
    assert facts["decoder_input_tokens"] == list(trace.decoder_input_tokens)
    assert facts["target_tokens"] == list(trace.target_tokens)
    for kind in KINDS:
        assert four_decimals(maps[kind]) == four_decimals(trace.attention(kind))


def test_four_decimals_survive_the_way_for_any_weight(shipped):
    trace = shipped.trace(FIRST)
    tricky = np.random.default_rng(1).random(trace.encoder.shape, dtype=np.float32)
    tricky.flat[:4] = 0, 1, 0.00005001, 0.86294997
    _, maps = unpack(explorer_blob(dataclasses.replace(trace, encoder=tricky)))
    assert four_decimals(maps["encoder"]) == four_decimals(tricky)


def test_patterns_and_roles_travel_head_by_head(shipped, checkpoints):
    trace = shipped.trace(FIRST)
    roles = load_roles(checkpoints / "en-de" / "heads.json", shipped.model)
    facts, _ = unpack(explorer_blob(trace, roles))
    assert facts["sentences"] == 400 and unpack(explorer_blob(trace))[0]["sentences"] is None
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


# The address


def test_without_an_address_a_head_is_shown_that_aligns_this_sentence_best(checkpoints, shipped, first):
    app, _ = first
    head, trace = sent(app)[0]["head"], shipped.trace(FIRST)
    assert head == first_head()
    layer, number = (int(part) - 1 for part in head.split(".")[1:])
    measured = measure_heads("cross", trace.cross, trace.source_tokens, trace.target_tokens)
    shares = {(each.layer, each.head): each.shares[Pattern.OUTPUT_ALIGNMENT] for each in measured}
    assert shares[layer, number] == max(shares.values())
    assert sent(app)[0] == START | {"head": head}
    assert not app.query_params, "it is the default"


def test_the_url_restores_the_choice():
    query = {"head": "decoder.1.2-decoder.3.8", "query": "", "key": "2.4"}
    query |= {"view": "lines", "rows": "input token", "label": "none"}
    assert set(query) == {*START, "head"}
    assert sent(open_page(PAGE, **query))[0] == query


@pytest.mark.parametrize(
    "query, heads",
    [
        ("encoder.2.3", "encoder.2.3"),
        ("cross.2.3-cross.1.1", "cross.2.3-cross.1.1"),
        ("cross.all.2", "cross.1.2-cross.2.2-cross.3.2"),
        ("cross.2.3-encoder.1.1", "cross.2.3"),
        ("cross.2.3-", "cross.2.3"),
    ],
)
def test_the_heads_of_the_address_are_shown_an_average_by_its_heads(query, heads):
    assert sent(open_page(PAGE, head=query))[0]["head"] == heads


def test_a_choice_goes_into_the_address():
    def page(choice):
        from headlight.views.attention.explorer import write_choice

        write_choice(choice)

    for head in ("cross.3.5", "cross.3.5-cross.1.1"):
        app = AppTest.from_function(page, args=(START | {"head": head, "query": "2", "rows": "input token"},)).run()
        assert not app.exception
        written = {name: first_of(app.query_params[name]) for name in app.query_params}
        assert written == {"head": head, "query": "2", "rows": "input token"}


def test_the_ways_on_lead_to_the_chosen_head_and_token():
    app = open_page(PAGE, head="encoder.2.3-encoder.1.1", query="4")
    (inside,) = app.get("page_link")
    assert inside.proto.query_string == "head=encoder.2.3&at_step=softmax&query=4"
    assert "key" not in open_page(PAGE, key="2.3").get("page_link")[0].proto.query_string
    app.button(key="open_one head").click().run()
    (card,) = components(app)
    assert json.loads(card.proto.json)["name"] == "encoder self-attention layer 2, head 3"


def test_the_explorer_says_where_most_cross_attention_has_no_content(shipped):
    trace = shipped.trace(FIRST)
    resting = np.zeros_like(trace.cross)
    resting[..., -1], resting[..., 0] = 0.75, 0.25
    assert "75 % of this model’s cross-attention" in describe_sinks(dataclasses.replace(trace, cross=resting))
    resting[..., -1], resting[..., 0] = 0.5, 0.5
    assert describe_sinks(dataclasses.replace(trace, cross=resting)) == ""
