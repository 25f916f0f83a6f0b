"""Toy tasks and training on them: answers, settings, sequences, learning rate, result and files."""

import json
import random
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from transformer import __main__ as command_line
from transformer.decoding.sampling import Greedy, decode
from transformer.errors import ConfigError, UserError
from transformer.model.transformer import Transformer
from transformer.toy.settings import HELD_OUT, STATUS_FILE, Task, ToySettings, ToyTokenizer
from transformer.toy.training import ToyData, ToyTraining, toy_rate
from transformer.training.replay import REPLAY_FILE, load_replay

QUICK = ToySettings(vocabulary=5, length=6, d_model=16, num_layers=1, num_heads=2, warmup_steps=5, max_updates=6)
EASY = ToySettings(task="copy", vocabulary=7, length=4, d_model=32, num_heads=4, max_updates=600)
OTHER_VALUES = {"schedule": "none", "warmup_steps": 800, "norm": "post", "positions": "multiplied", "num_heads": 1}


def run(settings: ToySettings) -> tuple[ToyTraining, list]:
    training = ToyTraining(settings)
    return training, list(training.run())


@pytest.fixture(scope="module")
def learned() -> tuple[ToyTraining, list]:
    """A small task, trained to its end."""
    return run(EASY)


def test_the_seed_alone_decides_and_the_global_random_state_stays():
    before = torch.get_rng_state()
    (first, _), (second, _), (other, _) = run(QUICK), run(QUICK), run(replace(QUICK, seed=2))
    assert torch.equal(torch.get_rng_state(), before)
    assert first.losses == second.losses != other.losses
    for one, two, three in zip(*(training.model.parameters() for training in (first, second, other)), strict=True):
        assert one.equal(two)
        assert one.dim() == 1 or not one.equal(three)  # biases and norms of all seeds begin alike


def test_a_small_task_is_learned_within_its_limit_with_a_status_after_each_update(learned):
    _, statuses = learned
    last = statuses[-1]
    assert (last.end, last.measured) == ("goal", HELD_OUT) and last.exact_match >= 0.99
    assert last.loss < 0.3 < statuses[10].loss
    assert [status.update for status in statuses] == list(range(len(statuses)))
    assert statuses[0].loss is None and not any(status.end for status in statuses[:-1])
    assert all(later.seconds >= earlier.seconds for earlier, later in zip(statuses, statuses[1:], strict=False))
    assert last.updates_a_second == pytest.approx(last.update / last.seconds)


@pytest.mark.parametrize(("field", "value"), [*OTHER_VALUES.items(), ("positions", "relative")])
def test_runs_that_differ_in_one_hyperparameter_begin_with_the_same_weights_and_see_the_same_sequences(field, value):
    base, other = ToyTraining(EASY), ToyTraining(replace(EASY, **{field: value}))
    weights, others = base.model.state_dict(), other.model.state_dict()
    assert all(weights[name].equal(others[name]) for name in weights.keys() & others.keys())
    assert {name for name in weights.keys() ^ others.keys() if "norm" not in name and "relative" not in name} == set()
    assert base.data.held_out == other.data.held_out
    for mine, theirs in zip(base.data.batch(8), other.data.batch(8), strict=True):
        assert mine.equal(theirs)


@pytest.mark.parametrize("warmup", [1, 40])
def test_all_schedules_have_the_same_highest_rate(warmup):
    base, updates = ToySettings(warmup_steps=warmup, d_model=32, rate_factor=0.7), np.arange(1, 201)
    peak, rising = 0.7 / np.sqrt(32 * warmup), np.minimum(updates / warmup, 1)
    for schedule, shares in (
        ("none", 1),
        ("constant", rising),
        ("noam", np.minimum(rising, np.sqrt(warmup / updates))),
    ):
        rates = [toy_rate(update, replace(base, schedule=schedule)) for update in updates.tolist()]
        np.testing.assert_allclose(rates, peak * shares * np.ones(200))


def test_the_exact_match_is_that_of_decoding_one_by_one(learned):
    training, statuses = learned
    task, tokenizer, right = EASY.task, training.tokenizer, 0
    for row in training.data.held_out:
        (written,) = decode(training.model, [[*row, tokenizer.end_id]], Greedy())
        right += tokenizer.decode(written.ids) == tokenizer.decode(task.answer(row)) and written.finished
    assert statuses[-1].exact_match == right / HELD_OUT


def test_the_replay_has_some_25_snapshots_from_0_to_the_end(learned):
    training, statuses = learned
    replay = training.replay()
    assert replay.steps[0] == 0 and replay.steps[-1] == statuses[-1].update
    assert 12 <= len(replay.steps) <= 33
    gaps = np.diff(replay.steps)
    assert (gaps[:-1] == gaps[0]).all() and gaps[-1] <= gaps[0]
    assert replay.scores[-1].tolist() == [statuses[-1].update, statuses[-1].exact_match]
    assert replay.score_name == "exact match"
    (trajectory,) = replay.trajectories
    assert training.tokenizer.encode(trajectory.source_text) == list(training.data.held_out[0])
    assert trajectory.target_text == " ".join(EASY.task.answer(trajectory.source_text.split()))
    (written,) = decode(training.model, [[*training.data.held_out[0], 2]], Greedy())
    assert trajectory.outputs[-1] == training.tokenizer.decode(written.ids) == trajectory.target_text
    assert trajectory.outputs[0] != trajectory.target_text


def test_a_loss_that_is_no_number_ends_the_run():
    training = ToyTraining(QUICK)
    with torch.no_grad():
        next(training.model.parameters()).fill_(float("nan"))
    with pytest.raises(UserError, match="The loss of update 1 is no finite number"):
        list(training.run())


def test_the_command_line_trains_and_prints_the_end(tmp_path, capsys):
    options = [f"--{name.replace('_', '-')}={value}" for name, value in asdict(QUICK).items()]
    assert command_line.main(["toy", *options, "--out", str(tmp_path / "new" / "folder")]) == 0
    folder, status = tmp_path / "new" / "folder", json.loads(capsys.readouterr().out)
    assert json.loads((folder / STATUS_FILE).read_text()) == status and status["end"] == "limit"
    replay = load_replay(folder / REPLAY_FILE)
    assert replay.steps.tolist() == [0, 6] and replay.losses[:, 0].tolist() == [5, 6]
    assert sorted(path.name for path in folder.iterdir()) == [REPLAY_FILE, STATUS_FILE]
    assert command_line.main(["toy", "--num-heads=7", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "headlight: num_heads must divide d_model: 64 is not a multiple of 7.\n"


@pytest.mark.parametrize("positions", ["sinusoidal", "relative", "none", "learned"])
def test_the_last_status_has_the_share_of_right_symbols_in_sequences_twice_as_long(positions):
    training, statuses = run(replace(QUICK, positions=positions, max_updates=30))
    assert statuses[-1].end == "limit"
    if positions == "learned":  # there are none for later tokens
        assert statuses[-1].symbols_when_longer is None
        return
    assert [status.symbols_when_longer for status in statuses[:-1]] == [None] * 30
    with torch.random.fork_rng():
        long = Transformer(replace(training.model.config, max_length=13)).eval()
    long.load_state_dict(training.model.state_dict())
    chance, right = random.Random(f"{QUICK.seed} twice as long"), 0
    for _ in range(100):
        row = [chance.choice(training.data.ids) for _ in range(12)]
        written = [training.tokenizer.begin_id]
        while len(written) < 14 and written[-1] != training.tokenizer.end_id:  # one whole pass a symbol
            with torch.no_grad():
                logits = long(torch.tensor([[*row, training.tokenizer.end_id]]), torch.tensor([written]))
            written.append(int(logits[0, -1].argmax()))
        right += sum(one == other for one, other in zip(written[1:], row[::-1], strict=False))
    assert statuses[-1].symbols_when_longer == pytest.approx(right / 1200)


# The smallest task there may be: half of its 2,048 sequences would soon be met by chance.
SMALLEST = ToySettings(vocabulary=2, length=11)


@pytest.mark.parametrize(
    "task, expected",
    [
        ("copy", [{0}, {1}, {2}, {3}]),
        ("reverse", [{3}, {2}, {1}, {0}]),
        ("sort", [{1, 3}, {1, 3}, {0}, {2}]),  # which of two equal symbols comes first, nobody can say
    ],
)
def test_the_positions_of_an_answer_are_where_its_symbols_stand(task, expected):
    sequence = ("c", "a", "z", "a")
    assert (
        Task(task).answer((5, 3, 9, 3)) == {"copy": [5, 3, 9, 3], "reverse": [3, 9, 3, 5], "sort": [3, 3, 5, 9]}[task]
    )
    assert Task(task).positions(sequence) == expected
    assert [sequence[min(where)] for where in Task(task).positions(sequence)] == Task(task).answer(sequence)


def test_the_tokens_begin_with_three_special_tokens():
    tokenizer = ToyTokenizer("letters", 5)
    assert len(tokenizer) == 8
    assert tokenizer.encode("a e c") == [3, 7, 5]
    assert tokenizer.decode([1, 7, 3, 2, 0]) == "e a"
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


@pytest.mark.parametrize("task", Task)
def test_batches_are_shifted_by_one(task):
    settings = ToySettings(task=task, vocabulary=5, length=7)
    source, fed, predicted = ToyData(settings).batch(9)
    assert source.shape == fed.shape == predicted.shape == (9, 8)
    for row in range(9):
        *symbols, end = source[row].tolist()
        assert end == ToyTokenizer.end_id and all(3 <= id < 8 for id in symbols)
        assert fed[row].tolist() == [ToyTokenizer.begin_id, *task.answer(symbols)]
        assert predicted[row].tolist() == [*task.answer(symbols), ToyTokenizer.end_id]


def test_no_held_out_sequence_is_trained_on():
    data = ToyData(SMALLEST)
    held_out = set(data.held_out)
    assert len(data.held_out) == len(held_out) == HELD_OUT
    seen = {tuple(row[:-1]) for _ in range(150) for row in data.batch(64)[0].tolist()}
    assert not seen & held_out
    assert len(seen) > 1500, "nearly all others were met, so some of those held out would have been"
