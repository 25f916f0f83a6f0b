"""Measures of attention's stages, masks, scores, positions and the division, against NumPy and the file of weights."""

import copy
import json
import re
from collections import Counter
from functools import cache

import numpy as np
import pytest
from support.by_hand import ByHand
from support.head_rows import word
from support.lesson_runs import (
    SENTENCES,
    again,
    decided,
    named,
    numbers_of,
    outcome_of,
    right_of,
    run_in,
    run_of,
    softmax,
)
from support.models import small_config
from support.pages import components, open_page
from support.traces import CHECKPOINTS

from headlight.lessons.answer import Answer, Run, Undecided
from headlight.lessons.file import SHIPPED, read_lesson
from headlight.lessons.measures import order
from transformer import Translator
from transformer.checkpoint import Checkpoint, save_checkpoint
from transformer.experiments.attention import ToyShape, table, toy_numbers
from transformer.interpret.score_parts import explain_score
from transformer.interpret.study import Study
from transformer.interpret.what_if.intervention import Zero
from transformer.model.heads import Head, Heads
from transformer.model.transformer import Transformer

TOKENS = range(1, 4)
NEAR = 0.1
SAMPLES, KEYS = 400, 10
D_K = 32  # of both checkpoints
TEXT = "The cat is hungry because it has not eaten."


class WithoutMask(ByHand):
    """The model with every decoder row open to the end."""

    def attend(self, *arguments, **_) -> np.ndarray:
        return super().attend(*arguments[:5], causal=False)


@cache
def by_hand(checkpoint: str, model: type[ByHand] = ByHand) -> ByHand:
    return model(CHECKPOINTS / checkpoint)


def model_of(run: Run, model: type[ByHand] = ByHand) -> ByHand:
    """Return the model in NumPy, whose stages are this run's."""
    in_numpy = by_hand(run.request.checkpoint.name, model)
    in_numpy.logits = in_numpy.run(run.trace.source_ids, run.trace.decoder_input_ids)
    return in_numpy


def small_example(seed: int, open_to: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Return the stages of one head over three tokens, from the tables of the page."""
    toy = toy_numbers(ToyShape(1, 3, 4, 1), seed)
    x, biases = table(toy, "X"), table(toy, "biases")
    query, key, value = (x @ table(toy, f"W_{name}") + biases[at] for at, name in enumerate("QKV"))
    products = np.einsum("qd,kd->qk", query, key)
    weights = softmax(products / 2 if open_to is None else np.where(open_to, products / 2, -np.inf))
    return {"query": query, "key": key, "value": value, "products": products, "weights": weights}


def toy(measure: str, address: dict[str, str] | None = None, **arguments) -> Answer | str:
    return outcome_of(run_of("en-de", TEXT, **(address or {})), measure, **arguments)


def number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


@pytest.mark.parametrize("of", ["query", "key", "value"])
def test_a_projection_is_the_row_times_the_column_and_the_bias(of):
    for seed in range(1, 21):
        for (row, column), value in np.ndenumerate(small_example(seed)[of]):
            answer = toy("toy_projection", seed=seed, token=row + 1, dimension=column + 1, of=of)
            assert answer.value == pytest.approx(value, abs=1e-12)
            row_by_column = np.dot(answer.names["row"], answer.names["column"])
            assert row_by_column + answer.names["bias"] == pytest.approx(value, abs=1e-9)
            assert answer.calculation.count(" × ") == 4


def test_keys_scores_weights_and_outputs_of_the_small_example_are_those_by_hand():
    decisions = set()
    for seed, token in ((seed, token) for seed in range(1, 21) for token in TOKENS):
        expected, row = small_example(seed), token - 1
        products, weights = expected["products"][row], expected["weights"][row]
        best, largest = (toy(name, seed=seed, token=token) for name in ("toy_best_key", "toy_largest_weight"))
        assert toy("toy_score", seed=seed, token=token).value == pytest.approx(products.max() / 2, abs=1e-12)
        output = toy("toy_output", seed=seed, token=token, dimension=2).value
        assert output == pytest.approx((weights @ expected["value"])[1], abs=1e-12)
        is_plain = np.sort(weights)[-1] - np.sort(weights)[-2] >= NEAR
        assert isinstance(best, Answer) == is_plain
        values = {"softmax": weights.max(), "undivided": softmax(products).max(), "equal": 1 / 3}
        decisions.add(isinstance(largest, Answer))
        assert isinstance(largest, Answer) == (is_plain and np.diff(sorted(values.values())).min() >= 0.05)
        if is_plain:
            assert numbers_of(best) == pytest.approx({str(at + 1): value for at, value in enumerate(products)})
            assert right_of(best) == str(products.argmax() + 1)
        if isinstance(largest, Answer):
            labels = {option.name: float(option.label) for option in largest.options}
            assert labels == pytest.approx(values, abs=0.0051) and right_of(largest) == "softmax"
    assert decisions == {True, False}


def test_masking_the_key_that_is_read_most_is_done_by_the_address_of_this_example_alone():
    done = 0
    for seed, token in ((seed, token) for seed in range(1, 21, 3) for token in TOKENS):
        address = {"toy_block_seed": str(seed), "toy_batch": "1", "toy_d_model": "4", "toy_num_heads": "1"}
        arguments = {"measure": "toy_masked", "seed": seed, "token": token}
        answer = toy(address=address, **arguments)
        if isinstance(answer, str):
            continue
        done += 1
        target = np.argsort(-small_example(seed)["weights"][token - 1])[1]
        assert not answer.done and answer.names["key"] == target
        for masks in ("".join("01"[at == cell] for at in range(9)) for cell in range(9)):
            open_to = np.array([digit == "0" for digit in masks]).reshape(3, 3)
            weights = small_example(seed, open_to)["weights"][token - 1]
            masked = toy(address=address | {"toy_flipped": masks}, **arguments)
            assert masked.done == (weights.argmax() == target)
            if masks == answer.names["flipped"]:
                shown = map(float, re.findall(r"(?<= )(?:\d\.\d\d|0)(?=[,.])", masked.truth))
                assert list(shown) == pytest.approx(list(weights), abs=0.0051)
        solved = {"toy_flipped": answer.names["flipped"]}
        others = {"toy_tokens": "4"}, {"toy_mask": "causal"}, {"toy_block_seed": str(seed % 20 + 1)}
        strange = ({"toy_flipped": each} for each in ("", "0" * 8, "2" * 9, "1" * 9))
        assert not any(toy(address=address | solved | each, **arguments).done for each in (*others, *strange))
    assert done >= 8


def test_arguments_of_no_example_are_undecided():
    for seed, token in ((0, 1), (21, 1), (1, 0), (1, 4)):
        assert isinstance(toy("toy_best_key", seed=seed, token=token), str)
    assert isinstance(toy("toy_masked", seed=-1, token=1), str)
    for at, of in ((0, "key"), (5, "key"), (1, "mask")):
        assert isinstance(toy("toy_projection", seed=1, token=1, dimension=at, of=of), str)
    for factor in (0, 1, 3, -2, 10**9):
        assert isinstance(toy("spread_growth", seed=1, factor=factor), str)
    for seed in (0, -1, 100):
        assert isinstance(toy("typical_gradient", seed=seed), str)
    for at, by in ((200, 3), (100, 1), (4, 500), (0, 50)):
        assert isinstance(toy("rotation_angle", pair=at, position=5, offset=by), str)


@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
def test_the_best_key_of_the_model_has_the_largest_product_by_hand(kind):
    for run, answer in decided("best_key", kind=kind):
        trace, names = run.trace, answer.names
        stages = model_of(run).stages[kind, names["layer"]]
        head, row = names["head"], names["query"]
        products, weights = stages["products"][head, row], stages["weights"][head]
        tokens = named(trace.decoder_input_tokens if kind == "decoder" else trace.source_tokens)
        outputs = named(trace.source_tokens if kind == "encoder" else trace.target_tokens)
        eligible = [word(one) and one != tokens[key] for one, key in zip(outputs, weights.argmax(axis=1), strict=True)]
        top = np.sort(weights, axis=1)
        leads = np.where((top[:, -2] > 0) & eligible, top[:, -1] - top[:, -2], 0)
        if kind == "cross":  # a row that translates the word which all heads read most
            words = [at for at, token in enumerate(tokens) if word(token)]
            eligible = words[trace.cross[:, :, row].mean(axis=(0, 1))[words].argmax()] == names["key"]
            assert eligible and leads[row] >= NEAR
        else:
            assert leads[row] == pytest.approx(leads.max(), abs=1e-4)
        last = row + 1 if kind == "decoder" else len(products)
        assert right_of(answer) == str(products[:last].argmax() + 1) == str(names["key"] + 1)
        shown = {option.name: option.label for option in answer.options}
        assert all(label == f"“{tokens[int(name) - 1]}”" for name, label in shown.items())
        assert numbers_of(answer) == pytest.approx({name: products[int(name) - 1] for name in shown}, abs=1e-3)
        assert names["dimension"] == head * stages["query"].shape[1] // 8 and names["d_k"] == D_K
    assert isinstance(outcome_of(run_of("en-de", "no no no no no no"), "best_key", kind="encoder"), str)


def test_what_is_chosen_on_the_page_answers_a_question():
    address = {"toy_batch": "1", "toy_d_model": "4", "toy_num_heads": "1", "toy_flipped": "000001000"}
    text = read_lesson(SHIPPED / "qkv.toml").sentences[0]
    page = open_page("pages/inside.py", lesson="qkv.6", inside="small example", text=text, **address)

    def is_right() -> bool:
        (panel,) = (each for each in components(page) if "lesson" in each.proto.component_name)
        return json.loads(panel.proto.json)["tried"]["right"]

    assert not is_right(), "this is another seed's example"
    page.slider(key="toy_block_seed").set_value(16).run()
    assert is_right()


def probabilities(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities of the translation's tokens with the causal mask and without."""
    ids = list(run.trace.target_ids)
    with_mask, without = (softmax(model_of(run, model).logits) for model in (ByHand, WithoutMask))
    return with_mask[range(len(ids)), ids], without[range(len(ids)), ids]


def test_a_row_may_read_its_own_token_and_all_before():
    for run, answer in decided("open_cells"):
        tokens, row = run.trace.decoder_input_tokens, answer.names["row"]
        open_to = model_of(run).stages["decoder", 0]["weights"].sum(axis=0)[row] > 0
        assert right_of(answer) == str(open_to.sum()) and len(answer.options) == 4
        assert {option.name for option in answer.options if not option.feedback} == answer.right
        assert answer.names["fed"] == named(tokens)[row] and answer.names["length"] == len(tokens)
        assert answer.names["dimension"] == answer.names["head"] * D_K


def test_probabilities_without_the_mask_are_those_of_the_model_by_hand():
    for run, answer in decided("leak_effect"):
        before, after = probabilities(run)
        means = answer.names["with_mask"], answer.names["without_mask"]
        assert means == pytest.approx((before.mean(), after.mean()), abs=1e-3) and abs(means[0] - means[1]) > 0.05
        assert answer.value == 100 * means[1] < 100 * means[0]
    for run, answer in decided("lost_to_leak"):
        before, after = probabilities(run)
        losses = numbers_of(answer)
        assert losses == pytest.approx({name: (before - after)[int(name) - 1] for name in losses}, abs=2e-3)
        assert right_of(answer) == str(1 + int((before - after).argmax())) and len(losses) >= 3
        assert sorted(losses.values())[-2] < max(losses.values()) - 0.09
        assert answer.texts["token"].startswith(f"“{named(run.trace.target_tokens)[int(right_of(answer)) - 1]}”")


@cache
def drawn(seed: int, size: int) -> np.ndarray:
    """Return the products of the page's random vectors: [rows, keys]."""
    generator = np.random.default_rng([seed, size])
    queries = generator.standard_normal((SAMPLES, 1, size))
    return np.einsum("rod,rkd->rk", queries, generator.standard_normal((SAMPLES, KEYS, size)))


@pytest.mark.parametrize("factor", [2, 4, 8])
def test_random_products_spread_by_the_root_of_their_dimensions(factor):
    for seed in (1, 2, 3):
        answer = toy("spread_growth", seed=seed, factor=factor)
        low, high = answer.names["low"], answer.names["high"]
        growth = drawn(seed, high).std() / drawn(seed, low).std()
        assert high == factor * low and float(answer.names["spread"]) == pytest.approx(growth, abs=0.0051)
        times = {"same": 1, "root": factor**0.5, "factor": factor, "square": factor**2}
        assert right_of(answer) == min(times, key=lambda name: abs(np.log(times[name] / growth))) == "root"
        for option in answer.options:
            deviation = number(re.search(r"would be ([\d.,]+) at", option.feedback)[1])
            assert deviation == pytest.approx(drawn(seed, low).std() * times[option.name], rel=0.01)


def largest(stages: dict[str, np.ndarray], head: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest weight of each row of a head, without the division and with it."""
    products = stages["products"][head]
    if kind == "decoder":
        products = np.where(np.tri(*products.shape, dtype=bool), products, -np.inf)
    return softmax(products).max(axis=1), softmax(products / np.sqrt(D_K)).max(axis=1)


def test_a_row_without_the_division_has_the_largest_weight_of_its_products_softmax():
    for run, answer in decided("row_without_root", kind="cross"):
        layer, head, row = (answer.names[name] for name in ("layer", "head", "query"))
        stages = model_of(run).stages["cross", layer]
        without, divided = largest(stages, head, "cross")
        assert (without - divided)[row] == pytest.approx((without - divided).max(), abs=1e-4)
        twice = softmax(stages["products"][head] / D_K).max(axis=1)[row]
        expected = {"undivided": without[row], "same": divided[row], "twice": twice}
        assert numbers_of(answer) == pytest.approx(expected, abs=1e-4) and right_of(answer) == "undivided"
        assert answer.names["word"] == named(run.trace.target_tokens)[row]


def test_a_quiet_head_is_one_with_the_smallest_rise():
    ((run, answer),) = decided("quiet_head", TEXT, most=1)
    rises = {}
    for (kind, layer), stages in model_of(run).stages.items():
        for head in range(8):
            without, divided = largest(stages, head, str(kind))
            rises[Head(kind, layer, head)] = without.mean() - divided.mean()
    quiet = answer.names["quiet"]
    assert rises[quiet] == pytest.approx(min(rises.values()), abs=1e-4) and not answer.done
    assert again(run, "quiet_head", head=quiet.address).done
    for address in (f"{quiet.kind}.all.1", f"{quiet.kind}.1.0", f"{quiet.kind}.99.1", "x.1.1", ""):
        assert not again(run, "quiet_head", head=address).done


def parts_of(run: Run, names):
    """Return the parts of the lead of the cell that an answer names."""
    head = names["cell_head"]
    cell = head.kind, head.layer, head.head, names["row"], names["key"]
    return explain_score(run.translator, run.trace, *cell, against=names["against"])


@pytest.mark.parametrize("side", ["query", "key"])
def test_the_part_that_carries_the_lead_has_the_largest_sum_of_products(side):
    for run, answer in decided("part_of_lead", side=side):
        assert answer.truth.startswith(f"Of the {side}'s parts, ")
        frame, head = parts_of(run, answer.names).to_frame(), answer.names["cell_head"]
        frame = frame[~frame[f"{side}_kind"].isin(["biases", "relative position"])]
        sums = frame.groupby([f"{side}_kind", f"{side}_layer"], dropna=False)["value"].sum()
        expected = sums.nlargest(len(answer.options))
        assert sorted(numbers_of(answer).values(), reverse=True) == pytest.approx(list(expected), abs=1e-4)
        order = np.argsort(-run.trace.cross[head.layer, head.head, answer.names["row"]])
        assert [answer.names["key"], answer.names["against"]] == list(order[:2])


def test_the_lead_without_a_head_is_that_of_a_run_without_it():
    for run, answer in decided("needed_head"):
        names, trace = answer.names, run.trace

        def lead(under, names=names):
            row = under.cross[names["cell_head"].layer, names["cell_head"].head, names["row"]].astype(np.float64)
            return np.log(row[names["key"]] / row[names["against"]])

        for name, fall in numbers_of(answer).items():
            zero = [Zero.of(Heads.parse(name))]
            under = run.translator.trace(trace.source_text, target=trace.target_ids, interventions=zero)
            assert fall == pytest.approx(lead(trace) - lead(under), abs=1e-3)
        assert right_of(answer) == names["removed"].address


def waves(length: int, d_model: int) -> np.ndarray:
    """Return the paper's table: sines in even dimensions, cosines in odd ones."""
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(0, d_model, 2) / d_model)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, d_model)


def test_both_orders_are_one_to_an_encoder_without_positions(monkeypatch):
    for run, answer in decided("translated_without_positions", most=2):
        blind = Translator.load(CHECKPOINTS / run.request.checkpoint.name, "cpu")
        entry = blind.model.encoder_input
        entry.positions = copy.deepcopy(entry.positions)  # which it shares with the decoder
        entry.positions.table.zero_()
        left, texts = answer.names["as_first"].lower(), [answer.names["first"], answer.names["second"]]
        assert texts[0] == run.request.text != texts[1] and sorted(texts[0]) == sorted(texts[1])
        one, other = blind.translate(texts)
        common = Counter(re.findall(r"\w+", left)) & Counter(re.findall(r"\w+", one.lower()))
        assert one == other and answer.value == common.total() and f"“{one}”" in answer.truth
        assert answer.names["as_first"] == run.translator.translate(texts[:1])[0]
    monkeypatch.setattr(Study, "translations_without_positions", lambda *_: ("Ja.", "Nein."))
    with pytest.raises(Undecided):
        order.translated_without_positions(run)
    for text in ("Stop.", "Tom Tom", "?"):
        assert isinstance(outcome_of(run_of("en-de", text), "translated_without_positions"), str)


def test_a_position_is_as_long_as_the_root_of_its_pairs_and_copies_are_as_far_apart():
    for run, answer in decided("position_length"):
        model, d_model = run.translator.model, run.translator.model.config.d_model
        rows = model.encoder_input.embedding.weight[list(run.trace.source_ids)].detach().numpy() * d_model**0.5
        lengths, position = np.linalg.norm(rows, axis=1), (d_model / 2) ** 0.5
        assert answer.value == pytest.approx(position, rel=1e-5) and answer.names["pairs"] == d_model // 2
        assert f"{(lengths > position).sum()} of {len(rows)} are longer" in answer.truth
        assert f"from {lengths.min():.1f} to {lengths.max():.1f}" in answer.truth
    for run, answer in decided("copies_apart", "The old man saw the old dog.", "I know that you know him."):
        first, second = answer.names["first"], answer.names["second"]
        tokens, word = run.trace.source_tokens, answer.names["word"]
        assert tokens[first] == word and (
            second == len(tokens) - 1 if tokens.count(word) == 1 else tokens[second] == word
        )
        one, other = waves(second + 1, run.translator.model.config.d_model)[[first, second]]
        assert answer.value == pytest.approx(np.linalg.norm(one - other), rel=1e-5) and first < second


@pytest.mark.parametrize("positions", ["none", "relative"])
def test_a_model_without_sines_has_no_question_about_them_and_one_with_a_bias_none_about_the_division(
    tmp_path, tokenizer, positions
):
    changes = {"relative_buckets": 8, "relative_distance": 11} if positions == "relative" else {}
    model = Transformer(small_config(vocab_size=len(tokenizer), positions=positions, **changes))
    save_checkpoint(tmp_path / "small", Checkpoint(model, tokenizer, {}, []))
    run = run_in(tmp_path / "small", "red dog red.")
    for name in ("position_length", "most_alike", "turned_around", "translated_without_positions"):
        assert isinstance(outcome_of(run, name), str)
    assert isinstance(outcome_of(run, "copies_apart"), str)
    if positions == "none":
        return
    for measure, arguments in (("row_without_root", {"kind": "encoder"}), ("quiet_head", {})):
        assert "adds a bias by distance" in outcome_of(run, measure, **arguments)


def test_the_angle_is_that_between_two_arrows():
    for pair, position, offset in ((4, 20, 3), (4, 0, 5), (9, 7, 2), (0, 11, 4)):
        run = run_of("en-de", SENTENCES[0])
        answer = outcome_of(run, "rotation_angle", pair=pair, position=position, offset=offset)
        table = waves(position + offset + 1, run.translator.model.config.d_model)
        angles = np.degrees(np.arctan2(table[:, 2 * pair], table[:, 2 * pair + 1]))  # of each position's clock hand
        assert answer.value % 360 == pytest.approx((angles[position + offset] - angles[position]) % 360, abs=1e-3)
        assert answer.value == pytest.approx(offset * answer.names["one"], abs=0.1)


@pytest.mark.parametrize("pair", [0, 4, 12])
def test_an_arrow_is_back_where_it_points_the_same_way_after_whole_turns(pair):
    for offset in range(1, 65):
        answer = outcome_of(run_of("en-de", SENTENCES[0], pair=str(pair), offset=str(offset)), "turned_around")
        turned = offset * 10000 ** (-2 * pair / 256)
        assert answer.done == (np.cos(turned) >= np.cos(np.radians(10)) and turned > np.radians(350)), offset
        assert f"{np.degrees(turned):,.1f}°" in answer.truth
    for nonsense in ({"offset": "-3"}, {"pair": "x"}, {"pair": "9999"}):
        assert not outcome_of(run_of("en-de", SENTENCES[0], **{"offset": "3", **nonsense}), "turned_around").done
