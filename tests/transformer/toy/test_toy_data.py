"""Toy tasks without a training: answers, tokens, settings, sequences and learning rates."""

from dataclasses import replace

import numpy as np
import pytest

from transformer.errors import ConfigError
from transformer.toy.settings import HELD_OUT, Task, ToySettings, ToyTokenizer
from transformer.toy.training import ToyData, toy_rate


@pytest.mark.parametrize(
    "task, answer, positions",
    [
        ("copy", [5, 3, 9, 3], [{0}, {1}, {2}, {3}]),
        ("reverse", [3, 9, 3, 5], [{3}, {2}, {1}, {0}]),
        ("sort", [3, 3, 5, 9], [{1, 3}, {1, 3}, {0}, {2}]),
    ],
)
def test_an_answer_has_the_positions_of_its_symbols_and_batches_are_shifted_by_one(task, answer, positions):
    task = Task(task)
    assert task.answer((5, 3, 9, 3)) == answer and task.positions((5, 3, 9, 3)) == positions
    source, fed, predicted = ToyData(ToySettings(task=task, vocabulary=5, length=7)).batch(9)
    assert source.shape == fed.shape == predicted.shape == (9, 8)
    for row in range(9):
        *symbols, end = source[row].tolist()
        assert end == ToyTokenizer.end_id and all(3 <= id < 8 for id in symbols)
        assert fed[row].tolist() == [ToyTokenizer.begin_id, *task.answer(symbols)]
        assert predicted[row].tolist() == [*task.answer(symbols), ToyTokenizer.end_id]


def test_the_tokens_begin_with_three_special_tokens():
    tokenizer = ToyTokenizer("letters", 5)
    assert len(tokenizer) == 8
    assert tokenizer.encode("a e c") == [3, 7, 5] and tokenizer.decode([1, 7, 3, 2, 0]) == "e a"
    assert [tokenizer.piece_text(id) for id in range(4)] == ["<pad>", "<s>", "</s>", "a"]
    with pytest.raises(KeyError):
        tokenizer.encode("f")
    assert ToyTokenizer("digits", 10).decode(range(13)) == "0 1 2 3 4 5 6 7 8 9"


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"task": "shuffle"}, "task must be one of copy, reverse, sort, not 'shuffle'"),
        ({"symbols": "digits"}, "There are 10 digits; 11 were asked for"),
        ({"vocabulary": 27}, "vocabulary must be between 2 and 26, not 27"),
        ({"vocabulary": 2, "length": 10}, "2 symbols make only 1024 sequences of length 10.*learn them by heart"),
        ({"num_heads": 6}, "num_heads must divide d_model: 64 is not a multiple of 6"),
        ({"rate_factor": float("nan")}, "rate_factor must be in"),
    ],
)
def test_impossible_settings_are_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        ToySettings(**changes)


def test_no_held_out_sequence_is_trained_on():
    """Take the fewest sequences that a task may have, so that nearly all are met."""
    data = ToyData(ToySettings(vocabulary=2, length=11))
    held_out = set(data.held_out)
    assert len(data.held_out) == len(held_out) == HELD_OUT
    seen = {tuple(row[:-1]) for _ in range(150) for row in data.batch(64)[0].tolist()}
    assert not seen & held_out and len(seen | held_out) > 0.99 * 2**11


@pytest.mark.parametrize("warmup", [1, 40])
def test_all_schedules_have_the_same_highest_rate(warmup):
    base, updates = ToySettings(warmup_steps=warmup, d_model=32, rate_factor=0.7), np.arange(1, 201)
    peak, rising = 0.7 / np.sqrt(32 * warmup), np.minimum(updates / warmup, 1)
    falling = np.minimum(rising, np.sqrt(warmup / updates))
    for schedule, shares in (("none", 1), ("constant", rising), ("noam", falling)):
        rates = [toy_rate(update, replace(base, schedule=schedule)) for update in updates.tolist()]
        np.testing.assert_allclose(rates, peak * shares * np.ones(200))
