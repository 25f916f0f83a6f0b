"""How sure the model is over a corpus: measured as by hand, kept, read again or refused."""

import json

import numpy as np
import pytest
from support.sentences import SENTENCES

from transformer.decoding.output_statistics import (
    OutputStatistics,
    load_outputs,
    measure_outputs,
    save_outputs,
    split_words,
)
from transformer.errors import CheckpointError


@pytest.fixture(scope="module")
def measured(shipped) -> OutputStatistics:
    return measure_outputs(shipped.model, shipped.tokenizer, SENTENCES, "forty.tsv")


def test_each_sentence_is_measured_as_its_trace_alone_says(shipped, measured):
    usable = [text for text in SENTENCES if len(shipped.tokenizer.encode(text)) < shipped.model.config.max_length]
    means = [np.log(shipped.trace(text).target_probabilities.astype(float)).mean() for text in usable]
    assert measured.sentences == len(usable) >= 35
    np.testing.assert_allclose(measured.mean_log_probabilities, sorted(means), atol=2e-4)


def pieces_by_word(text: str, shipped) -> list[int]:
    """The pieces with a letter or digit of each word, words parted at the blanks that pieces begin with."""
    line = "\n".join(shipped.tokenizer.piece_text(id) for id in shipped.tokenizer.encode(text))
    words = [word.split("\n") for word in line.split("▁")]
    return [sum(any(map(str.isalnum, piece)) for piece in word) for word in words]


def test_words_in_many_pieces_are_counted(shipped, measured):
    shares = []
    for text in SENTENCES:
        sizes = [size for size in pieces_by_word(text, shipped) if size]
        tokens = [shipped.tokenizer.piece_text(id) for id in shipped.tokenizer.encode(text)]
        assert split_words(tokens) == (sum(size > 2 for size in sizes), len(sizes)), text
        shares.append(sum(size > 2 for size in sizes) / max(1, len(sizes)))
    assert sum(shares) > 0
    assert set(np.round(measured.split_shares, 9)) <= set(np.round(shares, 9))


@pytest.mark.parametrize(
    "tokens, expected",
    [
        ((), (0, 0)),
        (("▁I", "▁am"), (0, 2)),
        (("▁a", "b", "c"), (1, 1)),
        (("▁a", "b", "."), (0, 1)),
        (("▁", "a", "b", "c", "▁d"), (1, 2)),
        (("a", "b", "c", "▁!", "?"), (1, 1)),
    ],
)
def test_a_word_begins_at_a_blank_and_marks_are_no_part_of_it(tokens, expected):
    assert split_words(tokens) == expected


def test_what_was_written_is_read_again(measured, tmp_path):
    save_outputs(tmp_path / "outputs.json", measured)
    again = load_outputs(tmp_path / "outputs.json")
    assert again.pairs == "forty.tsv"
    np.testing.assert_allclose(again.mean_log_probabilities, measured.mean_log_probabilities, atol=5.1e-5)
    np.testing.assert_allclose(again.split_shares, measured.split_shares, atol=5.1e-5)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"mean_log_probabilities": []},
        {"mean_log_probabilities": [0.5]},
        {"mean_log_probabilities": [float("nan")]},
        {"mean_log_probabilities": [float("-inf")]},
        {"mean_log_probabilities": ["-1"]},
        {"mean_log_probabilities": [-(10**400)]},
        {"mean_log_probabilities": "many"},
        {"split_shares": [2.0]},
        {"split_shares": [0.0, 0.0]},
        {"split_shares": None},
    ],
)
def test_a_damaged_file_is_refused_in_a_sentence(tmp_path, change):
    path = tmp_path / "outputs.json"
    save_outputs(path, OutputStatistics("x", (-1.0,), (0.5,)))
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(CheckpointError, match="outputs.json cannot be read"):
        load_outputs(path)


def test_a_file_that_does_not_say_what_was_measured_is_refused(tmp_path):
    path = tmp_path / "outputs.json"
    save_outputs(path, OutputStatistics("x", (-1.0,), (0.5,)))
    content = json.loads(path.read_text())
    del content["pairs"]
    path.write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match="outputs.json cannot be read"):
        load_outputs(path)


def test_texts_that_the_model_cannot_take_are_left_out_and_nothing_else_is_refused(shipped):
    with pytest.raises(ValueError, match="at least one text"):
        measure_outputs(shipped.model, shipped.tokenizer, ["", "word " * 500], "none")
