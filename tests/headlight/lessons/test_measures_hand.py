"""What lessons ask about attention by hand, against NumPy, the file of weights, and the page that they point at."""

import base64
import json
import re
from functools import cache

import numpy as np
import pytest
from support.by_hand import ByHand
from support.head_rows import word
from support.lesson_runs import LANGUAGES, SENTENCES, decided, measured, named, run_of
from support.pages import ROOT, components, open_page

from headlight.lessons.answer import Answer, Kind
from headlight.lessons.file import read_lesson
from headlight.lessons.posed import pose
from headlight.lessons.register import answer_of
from headlight.plots.tokens import quoted
from transformer.experiments.attention import ToyShape, table, toy_numbers

BOTH = pytest.mark.parametrize("checkpoint", LANGUAGES)
TOKENS, DIMENSIONS = range(1, 4), range(1, 5)
QKV = read_lesson(ROOT / "headlight" / "lessons" / "shipped" / "qkv.toml")
NEAR = 0.1


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores)
    return powers / powers.sum(axis=-1, keepdims=True)


def by_hand(seed: int, open_to: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """One head over three tokens, from the tables that the page shows."""
    numbers = toy_numbers(ToyShape(1, 3, 4, 1), seed)
    x, biases = table(numbers, "X"), table(numbers, "biases")
    query, key, value = (x @ table(numbers, f"W_{name}") + biases[at] for at, name in enumerate("QKV"))
    products = np.einsum("qd,kd->qk", query, key)
    scores = products / 2
    weights = softmax(scores if open_to is None else np.where(open_to, scores, -np.inf))
    return {"query": query, "key": key, "value": value, "products": products, "scores": scores, "weights": weights}


def small(measure: str, **arguments) -> Answer | str:
    return measured(run_of("en-de", SENTENCES[0]), measure, **arguments)


@pytest.mark.parametrize("of", ["query", "key", "value"])
def test_a_projection_is_the_row_times_the_column_and_the_bias(of):
    for seed in range(1, 21):
        expected = by_hand(seed)[of]
        for token in TOKENS:
            for dimension in DIMENSIONS:
                answer = small("toy_projection", seed=seed, token=token, dimension=dimension, of=of)
                value = expected[token - 1, dimension - 1]
                assert answer.is_right(float(value)) and not answer.is_right(float(value) + 0.06)
                assert answer.value == pytest.approx(value, abs=1e-12)
                x, column = (
                    [float(part.replace("−", "-")) for part in answer.names[name].split(", ")]
                    for name in ("row", "column")
                )
                bias = float(answer.names["bias"].replace("−", "-"))
                assert np.dot(x, column) + bias == pytest.approx(value, abs=1e-9), "the hints have all numbers"


def test_keys_scores_weights_and_outputs_of_the_small_example_are_those_by_hand():
    asked, undecided = 0, set()
    for seed in range(1, 21):
        expected = by_hand(seed)
        outputs = expected["weights"] @ expected["value"]
        for token in TOKENS:
            row = token - 1
            second, first = np.sort(expected["weights"][row])[-2:]
            best = small("toy_best_key", seed=seed, token=token)
            score = small("toy_score", seed=seed, token=token)
            assert score.value == pytest.approx(expected["products"][row].max() / 2, abs=1e-12)
            output = small("toy_output", seed=seed, token=token, dimension=2)
            assert output.value == pytest.approx(outputs[row, 1], abs=1e-12)
            if first - second < NEAR:
                assert isinstance(best, str)
                undecided.add(best)
                continue
            asked += 1
            assert best.right == {str(int(expected["products"][row].argmax()) + 1)}
            check_largest_weight(seed, token, expected)
    assert asked >= 30 and len(undecided) == 1 and "nearly alike" in undecided.pop()


def check_largest_weight(seed: int, token: int, expected: dict[str, np.ndarray]) -> None:
    row = token - 1
    values = {
        "softmax": expected["weights"][row].max(),
        "undivided": softmax(expected["products"])[row].max(),
        "equal": 1 / 3,
    }
    gaps = np.diff(sorted(values.values()))
    answer = small("toy_largest_weight", seed=seed, token=token)
    if gaps.min() < 0.05:
        assert "too near" in answer
        return
    assert answer.right == {"softmax"}
    for option in answer.options:
        assert float(option.label) == pytest.approx(values[option.name], abs=0.0051)


def test_masking_the_key_that_is_read_most_is_done_by_the_address_of_this_example_alone():
    done = 0
    for seed in range(1, 21):
        for token in TOKENS:
            ranked = np.argsort(-by_hand(seed)["weights"][token - 1])
            address = {"toy_block_seed": str(seed), "toy_batch": "1", "toy_d_model": "4", "toy_num_heads": "1"}
            run = run_of("en-de", SENTENCES[0], **address)
            answer = measured(run, "toy_masked", seed=seed, token=token)
            if isinstance(answer, str):
                continue
            assert answer.kind == Kind.DO and not answer.done
            assert answer.names["key"] == f"token {ranked[1] + 1}"
            for cell in range(9):
                cells = np.ones(9, dtype=bool)
                cells[cell] = False
                flipped = "".join("0" if cell else "1" for cell in cells)
                weights = by_hand(seed, cells.reshape(3, 3))["weights"][token - 1]
                masked = run_of("en-de", SENTENCES[0], **address, toy_flipped=flipped)
                assert answer_of(masked, "toy_masked", {"seed": seed, "token": token}).done == (
                    weights.argmax() == ranked[1]
                )
            flipped = answer.names["flipped"]
            solved = answer_of(
                run_of("en-de", SENTENCES[0], **address, toy_flipped=flipped),
                "toy_masked",
                {"seed": seed, "token": token},
            )
            open_to = np.array([digit == "0" for digit in flipped]).reshape(3, 3)
            said = [float(each) for each in re.findall(r"(?<= )(?:\d\.\d\d|0)(?=[,.])", solved.truth)]
            assert said == pytest.approx(list(by_hand(seed, open_to)["weights"][token - 1]), abs=0.0051)
            for changed in ({"toy_tokens": "4"}, {"toy_mask": "causal"}, {"toy_block_seed": str(seed % 20 + 1)}):
                other = run_of("en-de", SENTENCES[0], **(address | {"toy_flipped": flipped} | changed))
                assert not answer_of(other, "toy_masked", {"seed": seed, "token": token}).done
            for strange in ("", "0" * 8, "2" * 9, "1" * 9):
                other = run_of("en-de", SENTENCES[0], **address, toy_flipped=strange)
                assert not answer_of(other, "toy_masked", {"seed": seed, "token": token}).done
            done += 1
    assert done >= 20


@pytest.mark.parametrize(
    ("measure", "arguments"),
    [
        ("toy_best_key", {"seed": 0, "token": 1}),
        ("toy_best_key", {"seed": 21, "token": 1}),
        ("toy_score", {"seed": 1, "token": 0}),
        ("toy_largest_weight", {"seed": 1, "token": 4}),
        ("toy_masked", {"seed": -1, "token": 1}),
        ("toy_output", {"seed": 1, "token": 1, "dimension": 5}),
        ("toy_projection", {"seed": 1, "token": 1, "dimension": 0}),
        ("toy_projection", {"seed": 1, "token": 1, "dimension": 1, "of": "mask"}),
    ],
)
def test_an_example_that_the_page_does_not_have_is_said(measure, arguments):
    assert re.fullmatch(r"The small example has .*\.", small(measure, **arguments))


@cache
def weights_of(checkpoint: str) -> ByHand:
    return ByHand(ROOT / "checkpoints" / checkpoint)


@BOTH
@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
def test_the_best_key_of_the_model_has_the_largest_product_by_hand(checkpoint, kind):
    answers = decided(checkpoint, "best_key", kind=kind)
    assert len(answers) >= 5
    model = weights_of(checkpoint)
    for run, answer in answers:
        trace = run.trace
        model.run(trace.source_ids, trace.decoder_input_ids)
        layer, head, row, key = (int(answer.names[name]) - 1 for name in ("layer", "head", "query", "key"))
        stages = model.stages[kind, layer]
        last = row + 1 if kind == "decoder" else None
        products, weights = stages["products"][head, row, :last], np.sort(stages["weights"][head], axis=1)
        assert answer.right == {str(key + 1)} and products.argmax() == key
        tokens = trace.decoder_input_tokens if kind == "decoder" else trace.source_tokens
        outputs = named(trace.source_tokens if kind == "encoder" else trace.target_tokens)
        read = [named(tokens)[at] for at in stages["weights"][head].argmax(axis=1)]
        taken = [word(one) and one != other for one, other in zip(outputs, read, strict=True)]
        assert weights[row, -1] - weights[row, -2] == pytest.approx(
            np.where((weights[:, -2] > 0) & taken, weights[:, -1] - weights[:, -2], 0).max(), abs=1e-4
        )
        for option in answer.options:
            at = int(option.name) - 1
            assert option.label == quoted(named(tokens)[at])
            told = re.search(r"is (−?[\d.]+)\.$", option.told or answer.truth.replace(": ", " is "))
            assert float(told[1].replace("−", "-")) == pytest.approx(products[at], abs=0.06)
        assert answer.names["dimension"] == str(head * stages["query"].shape[1] // 8 + 1)


def test_a_sentence_of_one_word_over_and_over_is_undecided():
    for kind in ("encoder", "cross"):
        assert measured(run_of("en-de", "no no no no no no"), "best_key", kind=kind).startswith(
            ("A word stands here twice", "No row")
        )


def shown(address: dict[str, str], text: str) -> dict:
    page = open_page("pages/inside.py", **address, text=text)
    (steps,) = (found for found in components(page) if found.proto.component_name.endswith("steps"))
    return json.loads(steps.proto.json)


def array(payload: dict, name: str) -> np.ndarray:
    sent = payload["facts"]["arrays"][name]
    values = np.frombuffer(base64.b64decode(sent["base64"]), {"float16": "<f2", "float32": "<f4"}[sent["dtype"]])
    return values.reshape(sent["shape"]).astype(np.float64)


def test_the_page_of_each_step_shows_the_number_that_is_right():
    text = QKV.sentences[0]
    steps = [pose(QKV, number, run_of("en-de", text)) for number in range(7)]
    pages = [shown(step.address(shown=True), text) for step in steps]
    names = [step.answer.names for step in steps]
    at = [
        {key: int(name[key]) - 1 for key in ("token", "dimension", "query") if name.get(key, "").isdigit()}
        for name in names
    ]
    assert array(pages[0], "query")[at[0]["token"], at[0]["dimension"]] == pytest.approx(
        steps[0].answer.value, abs=1e-6
    )
    assert steps[1].answer.right == {str(int(array(pages[1], "products")[at[1]["token"]].argmax()) + 1)}
    assert array(pages[2], "scores")[at[2]["token"]].max() == pytest.approx(steps[2].answer.value, abs=1e-6)
    (right,) = (option for option in steps[3].options if option.name in steps[3].answer.right)
    assert array(pages[3], "weights")[at[3]["token"]].max() == pytest.approx(float(right.label), abs=0.0051)
    output = array(pages[4], "concatenated")[at[4]["token"], at[4]["dimension"]]
    assert output == pytest.approx(steps[4].answer.value, abs=1e-6)
    masked = array(pages[5], "weights")[at[5]["token"]]
    assert f"token {masked.argmax() + 1}" == names[5]["key"] and masked.min() == 0
    products = array(pages[6], "products")[at[6]["query"]]
    assert steps[6].answer.right == {str(int(products.argmax()) + 1)}
    assert not answer_of(run_of("en-de", text, **steps[5].address()), "toy_masked", steps[5].step.arguments).done
    assert answer_of(run_of("en-de", text, **steps[5].address(shown=True)), "toy_masked", steps[5].step.arguments).done


def test_what_widgets_hold_counts_where_the_address_does_not_say_it():
    address = {"toy_batch": "1", "toy_d_model": "4", "toy_num_heads": "1", "toy_flipped": "000001000"}
    page = open_page("pages/inside.py", lesson="qkv.6", inside="small example", text=QKV.sentences[0], **address)

    def is_right() -> bool:
        (panel,) = (found for found in components(page) if "lesson" in found.proto.component_name)
        return json.loads(panel.proto.json)["tried"]["right"]

    assert not is_right(), "this is another seed's example"
    page.slider(key="toy_block_seed").set_value(16).run()
    assert "toy_block_seed" not in page.query_params and is_right()
