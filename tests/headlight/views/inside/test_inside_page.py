"""Inside attention through Streamlit's own test runner: what the steps are given, what the URL restores, bad input."""

import base64
import json
import shutil

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.by_hand import ByHand
from support.pages import ROOT, components, open_page, page_text

from headlight.app import results
from headlight.views.inside.page import VIEWS
from headlight.views.inside.steps_content import View, stages_payload
from transformer import Translator
from transformer.experiments.attention import ToyShape, toy_numbers

PAGE = "pages/inside.py"
FIRST = "I love my teacher."


def open_inside(**query: str) -> AppTest:
    return open_page(PAGE, **query)


def shown(app: AppTest) -> dict:
    (steps,) = components(app)
    return json.loads(steps.proto.json)


def array(given: dict, name: str) -> np.ndarray:
    sent = given["arrays"][name]
    values = np.frombuffer(base64.b64decode(sent["bytes"]), "<f2" if sent["half"] else "<f4")
    return values.reshape(sent["rows"], sent["columns"]).astype(np.float64)


@pytest.fixture(scope="module", params=[("en-de", FIRST), ("reverse", "headlight")], ids=lambda case: case[0])
def example(request) -> tuple[str, dict[str, dict], ByHand]:
    """A checkpoint, what its page shows of layer 2, head 3 of each kind, and the same by hand."""
    checkpoint, text = request.param
    asked = {"checkpoint": checkpoint, "text": text, "layer": "2", "head": "3"}
    by_kind = {kind: shown(open_inside(**asked, kind=kind)) for kind in ("encoder", "decoder", "cross")}
    folder = ROOT / "checkpoints" / checkpoint
    by_hand, trace = ByHand(folder), Translator.load(folder, "cpu").trace(text)
    by_hand.run(trace.source_ids, trace.decoder_input_ids)
    return checkpoint, by_kind, by_hand


def test_every_matrix_on_the_page_is_what_the_file_gives(example):
    _, by_kind, by_hand = example
    for kind, given in by_kind.items():
        expected, d_k = by_hand.stages[kind, 1], given["d_k"]
        own = slice(2 * d_k, 3 * d_k)
        whole = ("residual", "x", "memory", "query", "key", "value", "concatenated", "output", "total", "result")
        pairs = {name: expected[name] for name in whole}
        pairs |= {name: expected[name][2] for name in ("products", "scores", "weights")}
        pairs |= {f"head_{name}": expected[name][:, own] for name in ("query", "key", "value")}
        pairs["head_output"] = expected["concatenated"][:, own]
        for name, values in pairs.items():
            np.testing.assert_allclose(array(given, name), values, atol=1e-4 * np.abs(values).max(), err_msg=name)
        stack, block = "encoder" if kind == "encoder" else "decoder", "cross" if kind == "cross" else "self"
        weights = by_hand.weights[f"{stack}.1.{block}_attention.query_key_value.weight"]
        np.testing.assert_array_equal(array(given, "w_query"), np.split(weights, 3)[0].T[:, own])
        assert given["arrays"]["w_query"]["half"], "shipped weights are exact in half precision"
        assert max(step["gap"] for step in given["steps"] if step["gap"] is not None) < 1e-4


def test_the_steps_come_in_the_order_of_the_norm_and_take_what_steps_before_them_made(example):
    checkpoint, by_kind, _ = example
    middle = ["project", "split", "products", "scale", "mask", "softmax", "values", "concatenate", "output", "residual"]
    order = ["input", *middle, "norm_last"] if checkpoint == "en-de" else ["input", "norm_first", *middle]
    for given in by_kind.values():
        assert [step["name"] for step in given["steps"]] == order
        made = set() if checkpoint == "reverse" else {"x"}  # post-norm has X itself for X′
        for step in given["steps"]:
            taken = {panel["array"] for panel in step["inputs"]}
            assert taken <= made and (taken or step["name"] == "input")
            made |= {panel["array"] for panel in step["panels"]}


def test_formulas_shapes_and_purposes_are_those_of_the_block(example):
    checkpoint, by_kind, _ = example
    queries, keys = (len(by_kind["cross"][name]) for name in ("queries", "keys"))
    heads, width = (8, 256) if checkpoint == "en-de" else (4, 128)
    own, wide = f"batch 1 · heads {heads} · ", f"· d_model {width}"
    steps = {kind: {step["name"]: step for step in given["steps"]} for kind, given in by_kind.items()}
    shapes = {name: step["shape"] for name, step in steps["cross"].items()}
    assert shapes["input"] == f"X: batch 1 · queries {queries} {wide}; M: batch 1 · keys {keys} {wide}"
    assert shapes["project"] == f"Q: batch 1 · queries {queries} {wide}; K and V: batch 1 · keys {keys} {wide}"
    assert shapes["split"] == f"Q: {own}queries {queries} · d_k 32; K and V: {own}keys {keys} · d_k 32"
    assert shapes["products"] == shapes["mask"] == shapes["softmax"] == f"{own}queries {queries} · keys {keys}"
    assert shapes["values"] == f"{own}queries {queries} · d_k 32"
    assert shapes["concatenate"] == shapes["residual"] == f"batch 1 · queries {queries} {wide}"
    x = "X" if checkpoint == "en-de" else "X′"
    for kind, memory, inputs in (("cross", "M", "X, M"), ("encoder", x, "X"), ("decoder", x, "X")):
        assert f"Q = {x} W<sub>Q</sub>" in steps[kind]["project"]["formula"]
        assert f"K = {memory} W<sub>K</sub>" in steps[kind]["project"]["formula"]
        assert steps[kind]["input"]["formula"] == inputs
        assert steps[kind]["split"]["formula"] == "h = 3: columns 65 to 96 of Q, K and V"
        assert steps[kind]["concatenate"]["formula"] == f"O = [O<sub>1</sub> … O<sub>{heads}</sub>]"
    assert "the output of the layer below" in steps["encoder"]["input"]["why"]
    assert "the memory M" in steps["cross"]["input"]["why"]
    assert "later ones are what it is to predict" in steps["decoder"]["mask"]["why"]
    assert "every token of it may be attended to" in steps["cross"]["mask"]["why"]
    assert "√32 = 5.6569" in steps["cross"]["scale"]["see"]


def test_where_the_embeddings_come_from_depends_on_the_model():
    numbers = toy_numbers(ToyShape(1, 2, 4, 1), 1)

    def origin(**entry) -> str:
        view = View("encoder", 0, 0, 0, ("a", "b"), ("a", "b"), **entry)
        return stages_payload(numbers.stages(), numbers.parameters, {}, view)["steps"][0]["why"]

    assert origin() == "One vector a token, a row: the embeddings, times √d_model, plus the positions."
    assert origin(positioned=False, scaled=False) == "One vector a token, a row: the embeddings."
    assert origin(normalised=True).endswith("plus the positions, after a LayerNorm.")
    assert origin(toy=True).startswith("One made-up vector a token")


def test_query_key_dimension_kind_layer_and_head_come_from_the_url():
    app = open_inside(kind="cross", layer="3", head="5", at_query="2", at_key="4", at_dimension="130")
    given = shown(app)
    assert given["chosen"] == [2, 4, 130, "products"] and given["head"] == 4
    assert given["predicts"][1] == "▁liebe" and given["queries"][0] == "<s> → ▁Ich" and given["keys"][-1] == "</s>"


@pytest.mark.parametrize(("rows", "first"), [("output token", "▁Ich"), ("input token", "<s>"), ("x", "<s> → ▁Ich")])
def test_rows_are_named_as_everywhere_and_an_encoder_row_by_its_own_token(rows, first):
    assert shown(open_inside(kind="cross", rows=rows))["queries"][0] == first
    assert shown(open_inside(kind="encoder", rows=rows))["queries"][0] == "▁I"


@pytest.mark.parametrize("step", ["softmax", "all", "norm_last"])
def test_the_step_comes_from_the_url(step):
    assert shown(open_inside(at_step=step))["chosen"][3] == step
    assert shown(open_inside(inside="small example", at_step=step))["chosen"][3] == step


@pytest.mark.parametrize("step", ["", "norm_first", "<b>", "x" * 3000])
def test_a_step_that_there_is_not_falls_back(step):
    assert shown(open_inside(at_step=step))["chosen"][3] == "products"
    assert shown(open_inside(inside="small example", at_step=step))["chosen"][3] == "softmax"


@pytest.mark.parametrize("value", ["inf", "0", "-1", "9" * 3000, "<b>"])
def test_a_place_that_makes_no_sense_falls_back(value):
    place = {"kind": "encoder", "layer": "1", "head": "1"}
    given = shown(open_inside(at_query=value, at_key=value, at_dimension=value, **place))
    assert given["chosen"][0] == 3 and given["chosen"][2] == 1 and 1 <= given["chosen"][1] <= 6


def test_the_program_that_is_given_away_is_that_of_the_head():
    app = open_inside(kind="decoder", layer="2", head="7")
    (code,) = app.code
    assert "Masked decoder self-attention of en-de, layer 2, head 7" in code.value and len(code.value.splitlines()) < 40
    assert "heads, head, sentence = 8, 6, 0" in code.value


@pytest.mark.parametrize("view", [*VIEWS, "evil"])
@pytest.mark.parametrize("text", ["", "☃ <b>&</b> [x](y) $a$"])
def test_no_view_breaks_on_any_sentence(view, text):
    app = open_inside(inside=view, text=text)
    assert not app.exception
    assert app.title[0].value == "Inside"


# The architecture


@pytest.mark.parametrize(
    ("block", "sizes", "buttons", "pages"),
    [
        ("encoder.1.self_attention", "6 x 256 in, 6 x 256 out", ["Step by step through this block"], []),
        (
            "decoder.2.self_attention",
            "6 x 256 in, 6 x 256 out",
            ["Step by step through this block", "What its mask hides"],
            [],
        ),
        ("decoder.0.cross_attention", "6 x 256 in, 6 x 256 out", ["Step by step through this block"], []),
        ("target_embedding", "6 ids in, 6 x 256 out", [], ["positions"]),
        ("softmax", "6 x 12000 in, 6 x 12000 out", [], ["decoding"]),
        ("encoder.0.feed_forward", "6 x 256 in, 6 x 256 out", [], []),
    ],
)
def test_a_block_shows_its_shapes_and_leads_to_its_view(block, sizes, buttons, pages):
    app = open_inside(inside="architecture", block=block)
    assert f"Here: {sizes} (batch 1)." in page_text(app)
    assert [each.label for each in app.button if each.proto.type == "primary"] == buttons
    assert [each.proto.page for each in app.get("page_link") if each.proto.page in ("positions", "decoding")] == pages


def test_the_map_leads_to_the_layer_of_the_block():
    app = open_inside(inside="architecture", block="decoder.2.self_attention")
    views = {"Step by step through this block": "step by step", "What its mask hides": "masks"}
    for label, view in views.items():
        next(each for each in app.button if each.label == label).click().run()
        chosen = [app.segmented_control(key=f"{key}_buttons").value for key in ("kind", "layer", "head")]
        assert app.segmented_control(key="inside").value == view and chosen == ["decoder", "3", "1"]
        app.segmented_control(key="inside").set_value("architecture").run()


def test_all_parameters_stand_in_a_table():
    app = open_inside(inside="architecture")
    (table,) = (each.value for each in app.dataframe)
    assert table["values"].sum() == 8_601_600 and table["share"].sum() == pytest.approx(1)


# Another checkpoint: two encoder layers, one decoder layer, four heads


@pytest.fixture
def unlike(trained_folder, tmp_path, monkeypatch):
    shutil.copytree(trained_folder, tmp_path / "unlike")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    return json.loads((tmp_path / "unlike" / "config.json").read_text())["model"]


def test_a_checkpoint_of_other_sizes_shows_its_own(unlike):
    assert unlike["num_encoder_layers"] == 2 and unlike["num_decoder_layers"] == 1
    heads, width = unlike["num_heads"], unlike["d_model"]
    for kind, layers in ("encoder", 2), ("decoder", 1), ("cross", 1):
        app = open_inside(checkpoint="unlike", text="big old tree.", kind=kind, head=str(heads))
        assert app.button_group(key="layer_buttons").options == [str(layer + 1) for layer in range(layers)]
        app.button_group(key="layer_buttons").set_value(str(layers)).run()
        assert not app.exception
        given = shown(app)
        assert given["id"].startswith(f"{kind} {layers - 1} ") and given["head"] == heads - 1
        steps = {step["name"]: step for step in given["steps"]}
        queries, keys = len(given["queries"]), len(given["keys"])
        assert steps["softmax"]["shape"] == f"batch 1 · heads {heads} · queries {queries} · keys {keys}"
        assert steps["concatenate"]["shape"] == f"batch 1 · queries {queries} · d_model {width}"
        assert array(given, "weights").shape == (queries, keys) and array(given, "output").shape == (queries, width)


# Toy numbers


def open_toy(**query: str) -> AppTest:
    return open_inside(inside="small example", **query)


def test_the_toy_block_is_computed_from_the_tables():
    given = shown(open_toy())
    x, w_query, b_query = array(given, "x"), array(given, "w_query"), array(given, "b_query")
    query = x @ w_query + b_query
    key = array(given, "memory") @ array(given, "w_key") + array(given, "b_key")
    np.testing.assert_allclose(array(given, "head_query"), query, atol=1e-5)
    np.testing.assert_allclose(array(given, "scores"), query @ key.T / 2, atol=1e-5)
    assert given["heads"] == 2 and given["editable"] and given["d_k"] == 4


def test_the_toy_block_gives_its_program_away():
    app = open_toy(toy_row="2", toy_head="2")
    (code,) = app.code
    assert "Choose a cell" in next(step["why"] for step in shown(app)["steps"] if step["name"] == "mask")
    assert "made-up numbers, head 2" in code.value and "heads, head, sentence = 2, 1, 1" in code.value


def test_the_mask_of_the_url_closes_cells_and_a_closed_row_is_shown_for_what_it_is():
    app = open_toy(toy_flipped="000111000" + 9 * "0")
    given = shown(app)
    assert array(given, "open")[1].tolist() == [0, 0, 0] and not array(given, "weights")[1].any()
    frame = app.dataframe[-1].value
    assert frame.iloc[0].tolist() == ["not a number"] * 3
    assert frame.iloc[1].tolist() == ["0.3333"] * 3 and frame.iloc[2].tolist() == ["0.0000"] * 3


@pytest.mark.parametrize("cells", ["111", "2" * 18, "1" * 5000])
def test_a_mask_that_makes_no_sense_is_left_out(cells):
    assert array(shown(open_toy(toy_flipped=cells)), "open").all()


def test_sizes_that_do_not_fit_are_refused_with_a_sentence():
    app = open_toy(toy_d_model="4", toy_num_heads="4", toy_tokens="6", toy_batch="3")
    assert shown(app)["d_k"] == 1
    assert not open_toy(toy_d_model="999", toy_num_heads="-1", toy_batch="x", toy_block_seed="inf").exception


# The root


def test_the_root_is_measured_on_this_head_and_on_random_vectors():
    app = open_inside(inside="why √d_k", kind="cross", layer="2", head="4")
    assert len(app.get("plotly_chart")) == 3
    assert "Without the division a row's largest weight" in page_text(app) and "√512 = 22.6" in page_text(app)
