"""Inside attention through Streamlit's own test runner: what the steps are given, what the URL restores, bad input."""

import base64
import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.by_hand import ByHand
from support.pages import ROOT, components, open_page, page_text

from transformer import Translator

PAGE = "pages/inside.py"
FIRST = "I love my teacher."


def open_inside(**query: str) -> AppTest:
    return open_page(PAGE, **query)


def sent(app: AppTest) -> dict:
    (steps,) = components(app)
    return json.loads(steps.proto.json)


def facts(app: AppTest) -> dict:
    return sent(app)["facts"]


def array(payload: dict, name: str) -> np.ndarray:
    matrix = payload["arrays"][name]
    dtype = {"float16": "<f2", "float32": "<f4"}[matrix["dtype"]]
    return np.frombuffer(base64.b64decode(matrix["base64"]), dtype).reshape(matrix["shape"]).astype(np.float64)


@pytest.fixture(scope="module", params=[("en-de", FIRST), ("reverse", "headlight")], ids=lambda case: case[0])
def example(request) -> tuple[str, dict[str, dict], ByHand]:
    """A checkpoint, what its page shows of layer 2, head 3 of each kind, and the same by hand."""
    checkpoint, text = request.param
    query = {"checkpoint": checkpoint, "text": text}
    by_kind = {kind: facts(open_inside(**query, head=f"{kind}.2.3")) for kind in ("encoder", "decoder", "cross")}
    folder = ROOT / "checkpoints" / checkpoint
    by_hand, trace = ByHand(folder), Translator.load(folder, "cpu").trace(text)
    by_hand.run(trace.source_ids, trace.decoder_input_ids)
    return checkpoint, by_kind, by_hand


def test_every_matrix_on_the_page_is_what_the_file_gives(example):
    _, by_kind, by_hand = example
    for kind, payload in by_kind.items():
        expected, d_k = by_hand.stages[kind, 1], payload["head_size"]
        columns = slice(2 * d_k, 3 * d_k)
        whole = ("residual", "x", "memory", "query", "key", "value", "concatenated", "output", "total", "result")
        pairs = {name: expected[name] for name in whole}
        pairs |= {name: expected[name][2] for name in ("products", "scores", "weights")}
        for name, values in pairs.items():
            np.testing.assert_allclose(array(payload, name), values, atol=1e-4 * np.abs(values).max(), err_msg=name)
        stack, block = "encoder" if kind == "encoder" else "decoder", "cross" if kind == "cross" else "self"
        weights = by_hand.weights[f"{stack}.1.{block}_attention.query_key_value.weight"]
        np.testing.assert_array_equal(array(payload, "w_query"), np.split(weights, 3)[0].T[:, columns])
        assert payload["arrays"]["w_query"]["dtype"] == "float16", "shipped weights are exact in half precision"
        assert {*pairs} <= payload["gaps"].keys() and max(payload["gaps"].values()) < 1e-4
        assert payload["norm"] == by_hand.config["norm"] and payload["batch"] == 1


def test_query_key_dimension_kind_layer_and_head_come_from_the_url():
    app = open_inside(head="cross.3.5", query="2", key="4", at_dimension="130")
    assert sent(app)["chosen"] == ["2", "4", "130", ""] and not sent(app)["editable"]
    payload = facts(app)
    assert [payload[name] for name in ("kind", "layer", "head", "toy")] == ["cross", 2, 4, False]
    assert payload["embedding"] == {"scaled": True, "positioned": True, "normalised": False}
    labels = payload["query_tokens"][1], payload["queries"][0], payload["keys"][-1]
    assert labels == ("▁Ich", "<s> → ▁Ich", "</s>")


@pytest.mark.parametrize(("rows", "first"), [("output token", "▁Ich"), ("input token", "<s>"), ("x", "<s> → ▁Ich")])
def test_rows_are_named_as_everywhere_and_an_encoder_row_by_its_own_token(rows, first):
    assert facts(open_inside(head="cross.1.1", rows=rows))["queries"][0] == first
    assert facts(open_inside(head="encoder.1.1", rows=rows))["queries"][0] == "▁I"


# The architecture


@pytest.mark.parametrize(
    ("block", "sizes", "buttons"),
    [
        ("decoder.2.self_attention", "6 x 256 in, 6 x 256 out", 2),
        ("target_embedding", "6 ids in, 6 x 256 out", 0),
        ("softmax", "6 x 12000 in, 6 x 12000 out", 0),
    ],
)
def test_a_block_shows_its_shapes_and_leads_to_its_views(block, sizes, buttons):
    app = open_inside(inside="architecture", block=block)
    assert f"Here: {sizes} (batch 1)." in page_text(app)
    ways = [each for each in app.button if each.proto.type == "primary"]
    assert len(ways) == buttons
    for view, way in zip(("step by step", "masks"), ways, strict=False):
        opened = open_inside(inside="architecture", block=block)
        next(each for each in opened.button if each.label == way.label).click().run()
        shown = [opened.segmented_control(key=f"{key}_buttons").value for key in ("kind", "layer", "head")]
        assert opened.segmented_control(key="inside").value == view and shown == ["decoder", "3", "1"]


# Toy numbers


def open_toy(**query: str) -> AppTest:
    return open_inside(inside="small example", **query)


def test_the_toy_block_is_computed_from_the_tables():
    payload = facts(open_toy())
    x, w_query, b_query = array(payload, "x"), array(payload, "w_query"), array(payload, "b_query")
    query = x @ w_query + b_query
    key = array(payload, "memory") @ array(payload, "w_key") + array(payload, "b_key")
    np.testing.assert_allclose(array(payload, "query")[:, :4], query, atol=1e-5)
    np.testing.assert_allclose(array(payload, "scores"), query @ key.T / 2, atol=1e-5)
    assert payload["heads"] == 2 and payload["toy"] and payload["head_size"] == 4 and sent(open_toy())["editable"]


def test_the_mask_of_the_url_closes_cells_and_a_closed_row_is_shown_for_what_it_is():
    app = open_toy(toy_flipped="000111000" + 9 * "0")
    payload = facts(app)
    assert array(payload, "unmasked")[1].tolist() == [0, 0, 0] and not array(payload, "weights")[1].any()
    frame = app.dataframe[-1].value
    assert frame.iloc[0].tolist() == ["not a number"] * 3
    assert frame.iloc[1].tolist() == ["0.3333"] * 3 and frame.iloc[2].tolist() == ["0.0000"] * 3


# The root
