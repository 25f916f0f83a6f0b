"""What lessons ask about positions, against the paper's formula and a model whose table was set to zero."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from support.lesson_runs import LANGUAGES, SENTENCES, decided, measured, run_in, run_of
from support.models import LIKE_T5, small_config
from support.traces import CHECKPOINTS

from headlight.lessons.answer import Answer, Kind
from headlight.lessons.register import answer_of
from transformer import Translator
from transformer.checkpoint import Checkpoint, save_checkpoint
from transformer.model.transformer import Transformer

TWICE = ("The old man saw the old dog.", "He said that he knew that man.", "I know that you know him.")


def waves(length: int, d_model: int) -> np.ndarray:
    """The paper's table: sines in even dimensions, cosines in odd ones."""
    table = np.empty((length, d_model))
    for pair in range(d_model // 2):
        angles = np.arange(length) / 10000 ** (2 * pair / d_model)
        table[:, 2 * pair], table[:, 2 * pair + 1] = np.sin(angles), np.cos(angles)
    return table


@pytest.fixture(scope="module", params=LANGUAGES)
def blind(request) -> Translator:
    """A checkpoint whose encoder adds nothing."""
    translator = Translator.load(CHECKPOINTS / request.param, "cpu")
    entry = translator.model.encoder_input
    entry.positions = copy.deepcopy(entry.positions)  # which it shares with the decoder
    entry.positions.table.zero_()
    return translator


@pytest.fixture
def without_positions(tmp_path: Path, tokenizer) -> Path:
    """A checkpoint of a model that adds no positions."""
    torch.manual_seed(1)
    model = Transformer(small_config(vocab_size=len(tokenizer), positions="none"))
    save_checkpoint(tmp_path / "none", Checkpoint(model, tokenizer, {}, []))
    return tmp_path / "none"


def test_both_orders_are_one_to_an_encoder_without_positions(blind):
    checkpoint = {"German": "en-de", "French": "en-fr"}[blind.checkpoint.data["target_language"]]
    answers = decided(checkpoint, "translated_without_positions")
    assert len(answers) >= 5
    for run, answer in answers:
        *words, last = run.request.text[:-1].split()
        swapped = " ".join([last, *words[1:], words[0]]) + run.request.text[-1]
        assert answer.names["second"] == swapped
        one, other = blind.translate([run.request.text, swapped])
        assert answer.right == {"same" if one == other else "others"}
        assert f"“{one}”" in answer.truth and f"“{answer.names['as_first']}”" in answer.truth
        kept = run.translator.translate([run.request.text, swapped])
        assert [answer.names["as_first"], answer.names["as_second"]] == kept


@pytest.mark.parametrize("checkpoint", LANGUAGES)
def test_a_position_is_as_long_as_the_root_of_its_pairs(checkpoint):
    answers = decided(checkpoint, "position_length")
    assert len(answers) == len(SENTENCES)
    for run, answer in answers:
        model, trace = run.translator.model, run.trace
        d_model = model.config.d_model
        rows = model.encoder_input.embedding.weight[list(trace.source_ids)].detach().numpy() * d_model**0.5
        lengths, position = np.linalg.norm(rows, axis=1), (d_model / 2) ** 0.5
        assert answer.kind == Kind.NUMBER and answer.value == pytest.approx(position, rel=1e-5)
        assert answer.is_right(round(position)) and not answer.is_right(position + 0.6)
        assert f"{(lengths > position).sum()} of {len(rows)} are longer" in answer.truth
        assert f"from {lengths.min():.1f} to {lengths.max():.1f}" in answer.truth
        assert answer.names["pairs"] == str(d_model // 2)


@pytest.mark.parametrize("checkpoint", LANGUAGES)
def test_two_copies_of_a_word_are_as_far_apart_as_their_positions(checkpoint):
    for text in TWICE:
        run = run_of(checkpoint, text)
        answer = measured(run, "copies_apart")
        assert isinstance(answer, Answer)
        first, second = (int(answer.names[name]) for name in ("first", "second"))
        assert run.trace.source_tokens[first] == run.trace.source_tokens[second] == answer.names["word"]
        table = waves(second + 1, run.translator.model.config.d_model)
        apart = np.linalg.norm(table[first] - table[second])
        assert answer.right == {"positions"} and f"{apart:.2f}" in answer.truth


def test_no_word_twice_is_no_question_about_copies():
    assert measured(run_of("en-de", "Tom sees Mary."), "copies_apart") == "No word occurs twice in this sentence."


def test_copies_stay_one_vector_without_positions(without_positions):
    answer = measured(run_in(without_positions, "red dog red."), "copies_apart")
    assert isinstance(answer, Answer) and answer.right == {"not"}
    assert {option.name for option in answer.options} == {"not", "embedding"}


@pytest.mark.parametrize(
    ("measure", "arguments"),
    [
        ("position_length", {}),
        ("rotation_angle", {"pair": 4, "position": 5, "offset": 3}),
        ("most_alike", {}),
        ("turned_around", {}),
        ("translated_without_positions", {}),
    ],
)
def test_without_positions_there_is_nothing_to_ask_of_them(without_positions, measure, arguments):
    said = measured(run_in(without_positions, "red dog."), measure, **arguments)
    assert isinstance(said, str) and said.startswith("This model") and said.endswith(".")


@pytest.mark.parametrize("text", ["Stop.", "Tom Tom", "?"])
def test_a_text_that_has_no_second_order_is_undecided(text):
    said = measured(run_of("en-de", text), "translated_without_positions")
    assert isinstance(said, str) and "first and its last word exchanged" in said


@pytest.mark.parametrize("checkpoint", [*LANGUAGES, "reverse"])
@pytest.mark.parametrize(("pair", "position", "offset"), [(4, 20, 3), (4, 0, 5), (9, 7, 2), (0, 11, 4)])
def test_the_angle_is_that_between_two_arrows(checkpoint, pair, position, offset):
    run = run_of(checkpoint, SENTENCES[0])
    answer = answer_of(run, "rotation_angle", {"pair": pair, "position": position, "offset": offset})
    table = waves(position + offset + 1, run.translator.model.config.d_model)
    sines, cosines = table[:, 2 * pair], table[:, 2 * pair + 1]
    angles = np.degrees(np.arctan2(sines, cosines))  # of the clock's hand of each position
    assert answer.value % 360 == pytest.approx((angles[position + offset] - angles[position]) % 360, abs=1e-3)
    assert answer.value == pytest.approx(offset * float(answer.names["one"].rstrip("°")), abs=0.1)


def test_a_pair_that_is_not_there_or_hardly_turns_is_undecided():
    run = run_of("en-de", SENTENCES[0])
    for pair, offset in ((200, 3), (100, 1), (4, 500), (0, 50)):
        said = measured(run, "rotation_angle", pair=pair, position=5, offset=offset)
        assert isinstance(said, str) and said.startswith(("This model has no", "In this model this pair"))


@pytest.mark.parametrize("pair", [0, 4, 12])
def test_an_arrow_is_back_where_it_points_the_same_way_after_whole_turns(pair):
    asked = {"pair": str(pair)}
    step = 10000 ** (-2 * pair / 256)
    for offset in range(1, 65):
        answer = answer_of(run_of("en-de", SENTENCES[0], **asked, offset=str(offset)), "turned_around", {})
        turned = offset * step
        assert answer.done == (np.cos(turned) >= np.cos(np.radians(10)) and turned > np.radians(350)), offset
        assert f"{np.degrees(turned):,.1f}°" in answer.truth
    assert answer.kind == Kind.DO


@pytest.mark.parametrize("nonsense", [{"offset": "-3"}, {"pair": "x"}, {"pair": "9999"}, {}])
def test_an_address_of_nonsense_has_turned_nothing_around(nonsense):
    answer = answer_of(run_of("en-de", SENTENCES[0], **{"offset": "3", **nonsense}), "turned_around", {})
    assert not answer.done and answer.truth.startswith("With an offset of")


@pytest.mark.parametrize("checkpoint", [*LANGUAGES, "reverse"])
def test_of_two_positions_the_nearest_pair_is_most_alike(checkpoint):
    run = run_of(checkpoint, SENTENCES[0])
    answer = answer_of(run, "most_alike", {})
    config = run.translator.model.config
    table = waves(config.max_length, config.d_model)
    cosines = {}
    for option in answer.options:
        first, second = map(int, option.label.removeprefix("positions ").split(" and "))
        assert 0 <= first < second < config.max_length
        one, other = table[first], table[second]
        cosines[option.name] = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
        assert f"{cosines[option.name]:.2f}".lstrip("0") in option.told
    assert answer.right == {max(cosines, key=lambda name: cosines[name])}
    assert sorted(cosines.values())[-1] - sorted(cosines.values())[-2] >= 0.05


@pytest.mark.parametrize("measure", ["translated_without_positions", "copies_apart"])
def test_a_model_with_a_bias_by_distance_is_not_asked_about_positions_that_are_added(tmp_path, tokenizer, measure):
    changes = {**LIKE_T5["t5-1.0"], "begin_id": 2}  # as this tokenizer has it
    model = Transformer(small_config(vocab_size=len(tokenizer), **changes))
    save_checkpoint(tmp_path / "relative", Checkpoint(model, tokenizer, {}, []))
    assert "a bias on scores" in str(measured(run_in(tmp_path / "relative", "red dog red."), measure))
