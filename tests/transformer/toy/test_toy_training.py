"""Training on a toy task: what repeats, what the rate does, that it learns, and what it leaves behind."""

import json
import random
import subprocess
import sys
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
from support.server import ROOT, is_alive, until

from transformer import __main__ as command_line
from transformer.decoding.sampling import Greedy, decode
from transformer.errors import UserError
from transformer.model.transformer import Transformer
from transformer.toy.settings import HELD_OUT, STATUS_FILE, UNTIL_INPUT_ENDS, ToySettings
from transformer.toy.training import ToyTraining, toy_rate, train_toy
from transformer.training.replay import REPLAY_FILE, load_replay

QUICK = ToySettings(vocabulary=5, length=6, d_model=16, num_layers=1, num_heads=2, warmup_steps=5, max_updates=6)
EASY = ToySettings(task="copy", vocabulary=7, length=4, d_model=32, num_heads=4, max_updates=600)
OTHER_VALUES = {
    "schedule": "none",
    "warmup_steps": 800,
    "label_smoothing": 0.3,
    "norm": "post",
    "positions": "multiplied",
    "num_heads": 1,
}


def run(settings: ToySettings) -> tuple[ToyTraining, list]:
    training = ToyTraining(settings)
    return training, list(training.run())


@pytest.fixture(scope="module")
def learned() -> tuple[ToyTraining, list]:
    """A small task, trained to its end."""
    return run(EASY)


def test_the_same_seed_gives_the_same_run_bit_for_bit():
    (first, _), (second, _), (other, _) = run(QUICK), run(QUICK), run(replace(QUICK, seed=2))
    assert first.losses == second.losses != other.losses
    for one, two, three in zip(*(training.model.parameters() for training in (first, second, other)), strict=True):
        assert one.equal(two)
        assert one.dim() == 1 or not one.equal(three)  # biases and norms of all seeds begin alike


def test_a_training_leaves_everyone_elses_random_numbers_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    run(QUICK)
    assert torch.rand(3).equal(expected)


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
    base = ToySettings(warmup_steps=warmup, d_model=32, rate_factor=0.7)
    peak = 0.7 / np.sqrt(32 * warmup)
    rates = {
        name: [toy_rate(update, replace(base, schedule=name)) for update in range(1, 201)]
        for name in ("noam", "constant", "none")
    }
    assert all(max(values) == pytest.approx(peak) for values in rates.values())
    assert int(np.argmax(rates["noam"])) + 1 == warmup and rates["noam"][-1] < peak
    assert rates["constant"][:warmup] == pytest.approx(rates["noam"][:warmup]), "the warm-ups are one and the same"
    assert rates["constant"][warmup - 1 :] == pytest.approx([peak] * (201 - warmup))
    assert rates["none"] == pytest.approx([peak] * 200)


def test_a_small_task_is_learned_within_its_limit(learned):
    _, statuses = learned
    last = statuses[-1]
    assert (last.end, last.measured) == ("goal", HELD_OUT) and last.exact_match >= 0.99
    assert last.loss < 0.3 < statuses[10].loss


@pytest.mark.parametrize("task", ["copy", "reverse", "sort"])
def test_each_task_is_learned_with_relative_positions(task):
    training, statuses = run(replace(EASY, task=task, positions="relative"))
    assert statuses[-1].end == "goal"
    for table in (training.model.encoder_relative.table, training.model.decoder_relative.table):
        assert table.std() > 0.1


def test_where_it_stands_is_told_after_every_update(learned):
    _, statuses = learned
    assert [status.update for status in statuses] == list(range(len(statuses)))
    assert statuses[0].loss is None and not any(status.end for status in statuses[:-1])
    assert all(later.seconds >= earlier.seconds for earlier, later in zip(statuses, statuses[1:], strict=False))
    assert statuses[-1].updates_a_second == pytest.approx(statuses[-1].update / statuses[-1].seconds)


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


def test_the_replays_last_snapshot_writes_what_the_model_learned(learned):
    training, _ = learned
    trajectory = training.replay().trajectories[0]
    assert training.tokenizer.encode(trajectory.source_text) == list(training.data.held_out[0])
    assert trajectory.target_text == " ".join(EASY.task.answer(trajectory.source_text.split()))
    (written,) = decode(training.model, [[*training.data.held_out[0], 2]], Greedy())
    assert trajectory.outputs[-1] == training.tokenizer.decode(written.ids) == trajectory.target_text
    assert trajectory.outputs[0] != trajectory.target_text


def test_a_long_replay_is_downsampled_and_keeps_its_first_and_newest_snapshot():
    training = ToyTraining(QUICK)
    for update in range(0, 331, 10):
        if update % training._snapshot_every == 0:
            training._record(update)
    assert training.recorder.steps == list(range(0, 321, 20))


def test_a_run_that_learns_nothing_ends_at_its_limit():
    _, statuses = run(QUICK)
    assert (statuses[-1].update, statuses[-1].end) == (6, "limit")
    assert statuses[-1].loss is not None and statuses[-1].exact_match < 0.99


def test_a_loss_that_is_no_number_ends_the_run():
    training = ToyTraining(QUICK)
    with torch.no_grad():
        next(training.model.parameters()).fill_(float("nan"))
    with pytest.raises(UserError, match="The loss of update 1 is no finite number"):
        list(training.run())


def test_the_files_hold_the_end_of_the_run(tmp_path):
    status = train_toy(QUICK, tmp_path)
    assert json.loads((tmp_path / STATUS_FILE).read_text()) == asdict(status)
    assert status.end == "limit"
    replay = load_replay(tmp_path / REPLAY_FILE)
    assert replay.steps.tolist() == [0, 6] and replay.losses[:, 0].tolist() == [5, 6]
    assert sorted(path.name for path in tmp_path.iterdir()) == [REPLAY_FILE, STATUS_FILE]


def test_the_command_line_trains_and_prints_the_end(tmp_path, capsys):
    options = [f"--{name.replace('_', '-')}={value}" for name, value in asdict(QUICK).items()]
    assert command_line.main(["toy", *options, "--out", str(tmp_path / "new" / "folder")]) == 0
    assert json.loads(capsys.readouterr().out)["end"] == "limit"
    assert load_replay(tmp_path / "new" / "folder" / REPLAY_FILE).steps[-1] == 6


def test_the_command_line_refuses_what_cannot_be_in_a_sentence(tmp_path, capsys):
    assert command_line.main(["toy", "--num-heads=7", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "headlight: num_heads must divide d_model: 64 is not a multiple of 7.\n"


def test_a_training_ends_when_whoever_started_it_is_gone(tmp_path):
    """A program in between starts it, says its number, and is killed."""
    long = replace(QUICK, goal=1.0, max_updates=5000, vocabulary=26, length=20)
    options = [f"--{name.replace('_', '-')}={value}" for name, value in asdict(long).items()]
    command = [sys.executable, "-m", "transformer", "toy", *options, "--out", str(tmp_path), UNTIL_INPUT_ENDS]
    starter = (
        f"import subprocess\nchild = subprocess.Popen({command!r}, stdin=subprocess.PIPE)\n"
        "print(child.pid, flush=True)\nchild.wait()"
    )
    with subprocess.Popen([sys.executable, "-c", starter], cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        until((tmp_path / STATUS_FILE).exists)
        assert is_alive(child), "it goes on while somebody may write to it"
        parent.kill()
    until(lambda: not is_alive(child))
    assert json.loads((tmp_path / STATUS_FILE).read_text())["end"] == ""


def test_learned_positions_end_where_they_were_trained():
    _, statuses = run(replace(QUICK, positions="learned", max_updates=1))
    assert statuses[-1].end == "limit" and statuses[-1].symbols_when_longer is None


@pytest.mark.parametrize("positions", ["sinusoidal", "relative", "none"])
def test_the_end_says_how_many_symbols_stand_right_in_sequences_twice_as_long(positions):
    training, statuses = run(replace(QUICK, positions=positions, max_updates=30))
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
