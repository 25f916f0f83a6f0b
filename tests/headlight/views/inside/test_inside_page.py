"""The page Inside through Streamlit's test runner: matrices of a block, the address, the small example."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.by_hand import ByHand
from support.pages import ROOT, fact_array, open_page, payload

from transformer import Translator

PAGE = "pages/inside.py"
FIRST = "I love my teacher."


def open_inside(**query: str) -> AppTest:
    return open_page(PAGE, **query)


def facts(app: AppTest) -> dict:
    return payload(app)["facts"]


def array(facts: dict, name: str) -> np.ndarray:
    return fact_array(facts["arrays"][name]).astype(np.float64)


@pytest.mark.parametrize(("checkpoint", "text"), [("en-de", FIRST), ("reverse", "headlight")])
def test_every_matrix_on_the_page_is_what_the_file_gives(checkpoint, text):
    folder = ROOT / "checkpoints" / checkpoint
    by_hand, trace = ByHand(folder), Translator.load(folder, "cpu").trace(text)
    by_hand.run(trace.source_ids, trace.decoder_input_ids)
    for kind in ("encoder", "decoder", "cross"):
        shown = facts(open_inside(checkpoint=checkpoint, text=text, head=f"{kind}.2.3"))
        expected, d_k = by_hand.stages[kind, 1], shown["head_size"]
        whole = ("residual", "x", "memory", "query", "key", "value", "concatenated", "output", "total", "result")
        pairs = {name: expected[name] for name in whole}
        pairs |= {name: expected[name][2] for name in ("products", "scores", "weights")}
        for name, values in pairs.items():
            np.testing.assert_allclose(array(shown, name), values, atol=1e-4 * np.abs(values).max(), err_msg=name)
        stack, block = "encoder" if kind == "encoder" else "decoder", "cross" if kind == "cross" else "self"
        weights = np.split(by_hand.weights[f"{stack}.1.{block}_attention.query_key_value.weight"], 3)[0]
        np.testing.assert_array_equal(array(shown, "w_query"), weights.T[:, 2 * d_k : 3 * d_k])
        assert shown["arrays"]["w_query"]["dtype"] == "float16", "shipped weights are exact in half precision"
        assert {*pairs} <= shown["gaps"].keys() and max(shown["gaps"].values()) < 1e-4
        assert shown["norm"] == by_hand.config["norm"] and shown["batch"] == 1


def test_query_key_dimension_kind_layer_and_head_come_from_the_url():
    app = open_inside(head="cross.3.5", query="2", key="4", at_dimension="130")
    assert payload(app)["chosen"] == ["2", "4", "130", ""] and not payload(app)["editable"]
    block = facts(app)
    assert [block[name] for name in ("kind", "layer", "head", "toy")] == ["cross", 2, 4, False]
    assert block["embedding"] == {"scaled": True, "positioned": True, "normalised": False}
    assert (block["query_tokens"][0], block["keys"][-1]) == ("<s>", "</s>")


@pytest.mark.parametrize(("rows", "first"), [("both tokens", "<s> → {}"), ("input token", "<s>"), ("x", "{}")])
def test_rows_have_the_chosen_names_and_an_encoder_row_its_own_token(rows, first, shipped):
    trace = shipped.trace(FIRST)
    assert facts(open_inside(head="cross.1.1", rows=rows))["queries"][0] == first.format(trace.target_tokens[0])
    assert facts(open_inside(head="encoder.1.1", rows=rows))["queries"][0] == trace.source_tokens[0]


@pytest.mark.parametrize(
    "query", [{}, {"inside": "architecture", "block": "softmax"}, {"moment": "3", "head": "cross.1.1"}]
)
def test_the_page_begins_with_the_whole_pass(query):
    assert open_inside(**query).segmented_control(key="inside").value == "the whole pass"
    assert open_inside(head="cross.1.1").segmented_control(key="inside").value == "step by step", "as it always was"


def test_the_small_example_is_computed_from_its_tables_and_the_mask_of_the_address():
    app = open_inside(inside="small example", toy_flipped="000111000" + 9 * "0")
    block = facts(app)
    query = array(block, "x") @ array(block, "w_query") + array(block, "b_query")
    key = array(block, "memory") @ array(block, "w_key") + array(block, "b_key")
    np.testing.assert_allclose(array(block, "query")[:, :4], query, atol=1e-5)
    np.testing.assert_allclose(array(block, "products"), query @ key.T, atol=1e-5)
    assert (block["heads"], block["toy"], block["head_size"], payload(app)["editable"]) == (2, True, 4, True)
    assert array(block, "unmasked")[1].tolist() == [0, 0, 0] and not array(block, "weights")[1].any()
    frame = app.dataframe[-1].value
    assert frame.iloc[0].tolist() == ["not a number"] * 3
    assert frame.iloc[1].tolist() == ["0.3333"] * 3 and frame.iloc[2].tolist() == ["0.0000"] * 3
