"""Toy tasks: what is to be written, what is asked of whom, and that nothing held out is ever trained on."""

import dataclasses

import pytest

from transformer.errors import ConfigError
from transformer.toy.settings import HELD_OUT, Task, ToySettings, ToyTokenizer
from transformer.toy.training import ToyData

# The smallest task there may be: half of its 2,048 sequences would soon be met by chance.
SMALLEST = ToySettings(vocabulary=2, length=11)


@pytest.mark.parametrize("task, wanted", [("copy", [5, 3, 9, 3]), ("reverse", [3, 9, 3, 5]), ("sort", [3, 3, 5, 9])])
def test_each_task_has_its_answer(task, wanted):
    assert Task(task).answer((5, 3, 9, 3)) == wanted


def test_every_task_there_is_has_an_answer_and_no_other():
    for task in Task:
        assert sorted(task.answer((4, 3, 5))) == [3, 4, 5]
    with pytest.raises(ValueError, match="'shuffle' is not a valid Task"):
        Task("shuffle")


@pytest.mark.parametrize(
    "task, wanted",
    [
        ("copy", [{0}, {1}, {2}, {3}]),
        ("reverse", [{3}, {2}, {1}, {0}]),
        ("sort", [{1, 3}, {1, 3}, {0}, {2}]),  # which of two equal symbols comes first, nobody can say
    ],
)
def test_the_positions_of_an_answer_are_where_its_symbols_stand(task, wanted):
    sequence = ("c", "a", "z", "a")
    assert Task(task).positions(sequence) == wanted
    assert [sequence[min(where)] for where in Task(task).positions(sequence)] == Task(task).answer(sequence)


def test_the_tokens_begin_with_three_special_tokens():
    tokenizer = ToyTokenizer("letters", 5)
    assert len(tokenizer) == 8
    assert tokenizer.encode("a e c") == [3, 7, 5]
    assert tokenizer.decode([1, 7, 3, 2, 0]) == "e a"
    assert [tokenizer.piece_text(id) for id in range(4)] == ["<pad>", "<s>", "</s>", "a"]
    with pytest.raises(KeyError):
        tokenizer.encode("f")


def test_digits_begin_with_0():
    assert ToyTokenizer("digits", 10).decode(range(13)) == "0 1 2 3 4 5 6 7 8 9"


def test_the_defaults_are_the_task_of_the_page():
    settings = ToySettings()
    assert (settings.vocabulary, settings.length, settings.num_layers, settings.goal) == (11, 10, 2, 0.99)
    config = settings.model_config()
    assert (config.vocab_size, config.max_length, config.dropout, config.d_ff) == (14, 11, 0.0, 256)
    assert (config.pad_id, config.begin_id, config.end_id) == (0, 1, 2)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"task": "shuffle"}, "task must be one of copy, reverse, sort, not 'shuffle'"),
        ({"symbols": "runes"}, "symbols must be one of letters, digits, not 'runes'"),
        ({"schedule": "cosine"}, "schedule must be one of noam, constant, none"),
        ({"norm": "middle"}, "norm must be one of post, pre"),
        ({"positions": "rotary"}, "positions must be one of sinusoidal, learned, none, multiplied"),
        ({"symbols": "digits"}, "There are 10 digits; 11 were asked for"),
        ({"vocabulary": 27}, "vocabulary must be between 2 and 26, not 27"),
        ({"length": 1}, "length must be between 2 and 20, not 1"),
        ({"vocabulary": 2, "length": 10}, "2 symbols make only 1024 sequences of length 10.*learn them by heart"),
        ({"num_heads": 6}, "num_heads must divide d_model: 64 is not a multiple of 6"),
        ({"d_model": 33, "num_heads": 1}, "d_model must be even"),
        ({"d_model": 512}, "d_model must be between 8 and 256"),
        ({"num_layers": 5}, "num_layers must be between 1 and 4"),
        ({"warmup_steps": 0}, "warmup_steps must be between"),
        ({"rate_factor": 0.0}, "rate_factor must be in"),
        ({"rate_factor": float("nan")}, "rate_factor must be in"),
        ({"label_smoothing": 1.0}, "label_smoothing must be in"),
        ({"goal": 0.0}, "goal must be in"),
        ({"max_updates": 0}, "max_updates must be between"),
        ({"max_updates": 10**9}, "max_updates must be between"),
        ({"seed": -1}, "seed must be between"),
        ({"seed": "1"}, "seed must be int, not '1'"),
    ],
)
def test_settings_that_cannot_be_are_refused_in_a_sentence(changes, message):
    with pytest.raises(ConfigError, match=message):
        ToySettings(**changes)


def test_settings_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ToySettings().task = "copy"


@pytest.mark.parametrize("task", Task)
def test_batches_are_shifted_by_one(task):
    settings = ToySettings(task=task, vocabulary=5, length=7)
    source, fed, predicted = ToyData(settings).batch(9)
    assert source.shape == fed.shape == predicted.shape == (9, 8)
    for row in range(9):
        *given, end = source[row].tolist()
        assert end == ToyTokenizer.end_id and all(3 <= id < 8 for id in given)
        assert fed[row].tolist() == [ToyTokenizer.begin_id, *task.answer(given)]
        assert predicted[row].tolist() == [*task.answer(given), ToyTokenizer.end_id]


def test_what_is_held_out_is_never_trained_on():
    data = ToyData(SMALLEST)
    held_out = set(data.held_out)
    assert len(data.held_out) == len(held_out) == HELD_OUT
    seen = {tuple(row[:-1]) for _ in range(150) for row in data.batch(64)[0].tolist()}
    assert not seen & held_out
    assert len(seen) > 1500, "nearly all others were met, so some of those held out would have been"


def test_the_same_seed_draws_the_same_and_another_others():
    def first(seed: int):
        data = ToyData(ToySettings(seed=seed))
        return data.held_out, data.batch(4)[0].tolist()

    assert first(3) == first(3)
    assert first(3)[0] != first(4)[0] and first(3)[1] != first(4)[1]


def test_sources_come_as_the_model_reads_them_with_their_answers():
    data = ToyData(ToySettings(task="sort", vocabulary=5, length=7))
    found = list(data.sources(3))
    assert [tuple(source[:-1]) for source, _ in found] == data.held_out[:3]
    for source, wanted in found:
        assert source[-1] == wanted[-1] == ToyTokenizer.end_id and list(wanted[:-1]) == sorted(source[:-1])
