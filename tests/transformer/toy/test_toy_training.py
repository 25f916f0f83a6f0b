"""Training on toy tasks: randomness, result, replay and files."""

import json
import random
from dataclasses import asdict, replace
from itertools import pairwise, takewhile

import numpy as np
import pytest
import torch

from transformer import __main__ as command_line
from transformer.errors import UserError
from transformer.model.transformer import Transformer
from transformer.toy.settings import HELD_OUT, STATUS_FILE, ToySettings
from transformer.toy.training import ToyTraining
from transformer.training.replay import REPLAY_FILE, load_replay

QUICK = ToySettings(vocabulary=5, length=6, d_model=16, num_layers=1, num_heads=2, warmup_steps=5, max_updates=6)
EASY = ToySettings(task="copy", vocabulary=7, length=4, d_model=32, num_heads=4, max_updates=600)
OTHER_VALUES = {"schedule": "none", "warmup_steps": 800, "norm": "post", "positions": "relative", "num_heads": 1}


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


@pytest.mark.parametrize(("field", "value"), OTHER_VALUES.items())
def test_runs_that_differ_in_one_hyperparameter_begin_with_the_same_weights_and_see_the_same_sequences(field, value):
    base, other = ToyTraining(EASY), ToyTraining(replace(EASY, **{field: value}))
    weights, others = base.model.state_dict(), other.model.state_dict()
    assert all(weights[name].equal(others[name]) for name in weights.keys() & others.keys())
    assert {name for name in weights.keys() ^ others.keys() if "norm" not in name and "relative" not in name} == set()
    assert base.data.held_out == other.data.held_out
    for mine, theirs in zip(base.data.batch(8), other.data.batch(8), strict=True):
        assert mine.equal(theirs)


def test_a_small_task_is_learned_within_its_limit_with_a_status_after_each_update(learned):
    training, statuses = learned
    last = statuses[-1]
    assert (last.end, last.measured) == ("goal", HELD_OUT) and last.loss < 0.3 < statuses[10].loss
    assert [status.update for status in statuses] == list(range(len(statuses)))
    assert statuses[0].loss is None and not any(status.end for status in statuses[:-1])
    assert all(later.seconds >= earlier.seconds for earlier, later in pairwise(statuses))
    assert last.updates_a_second == pytest.approx(last.update / last.seconds)
    sources, answers = zip(*training.data.sources(HELD_OUT), strict=True)
    fed = torch.tensor([[training.tokenizer.begin_id, *answer[:-1]] for answer in answers])
    with torch.no_grad():
        predicted = training.model.eval()(torch.tensor(sources), fed).argmax(-1)
    right = (predicted == torch.tensor(answers)).all(dim=-1)
    assert last.exact_match == right.sum() / HELD_OUT >= 0.99


def test_the_replay_has_some_25_snapshots_from_0_to_the_end(learned):
    training, statuses = learned
    replay = training.replay()
    assert replay.steps[0] == 0 and replay.steps[-1] == statuses[-1].update and 12 <= len(replay.steps) <= 33
    gaps = np.diff(replay.steps)
    assert (gaps[:-1] == gaps[0]).all() and gaps[-1] <= gaps[0]
    assert replay.scores[-1].tolist() == [statuses[-1].update, statuses[-1].exact_match]
    assert replay.score_name == "exact match"
    (trajectory,) = replay.trajectories
    assert training.tokenizer.encode(trajectory.source_text) == list(training.data.held_out[0])
    assert trajectory.target_text == " ".join(EASY.task.answer(trajectory.source_text.split()))
    assert trajectory.outputs[-1] == trajectory.target_text != trajectory.outputs[0]


def test_a_loss_that_is_no_number_ends_the_run():
    training = ToyTraining(QUICK)
    with torch.no_grad():
        next(training.model.parameters()).fill_(float("nan"))
    with pytest.raises(UserError, match="The loss of update 1 is no finite number"):
        list(training.run())


def test_the_command_line_trains_and_prints_the_end(tmp_path, capsys):
    options = [f"--{name.replace('_', '-')}={value}" for name, value in asdict(QUICK).items()]
    folder = tmp_path / "new" / "folder"
    assert command_line.main(["toy", *options, "--out", str(folder)]) == 0
    status = json.loads(capsys.readouterr().out)
    assert json.loads((folder / STATUS_FILE).read_text()) == status and status["end"] == "limit"
    replay = load_replay(folder / REPLAY_FILE)
    assert replay.steps.tolist() == [0, 6] and replay.losses[:, 0].tolist() == [5, 6]
    assert sorted(path.name for path in folder.iterdir()) == [REPLAY_FILE, STATUS_FILE]
    assert command_line.main(["toy", "--num-heads=7", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "headlight: num_heads must divide d_model: 64 is not a multiple of 7.\n"


@pytest.mark.parametrize("positions", ["sinusoidal", "relative", "learned"])
def test_the_last_status_has_the_share_of_right_symbols_in_sequences_twice_as_long(positions):
    training, statuses = run(replace(QUICK, positions=positions, max_updates=30))
    assert [status.symbols_when_longer for status in statuses[:-1]] == [None] * 30 and statuses[-1].end == "limit"
    if positions == "learned":  # there are none for later tokens
        assert statuses[-1].symbols_when_longer is None
        return
    with torch.random.fork_rng():
        long = Transformer(replace(training.model.config, max_length=13)).eval()
    long.load_state_dict(training.model.state_dict())
    chance, end = random.Random(f"{QUICK.seed} twice as long"), training.tokenizer.end_id
    rows = [[chance.choice(training.data.ids) for _ in range(12)] for _ in range(100)]
    sources, written = torch.tensor([[*row, end] for row in rows]), torch.full((100, 1), training.tokenizer.begin_id)
    with torch.no_grad():
        for _ in range(12):  # one whole pass a symbol
            written = torch.cat([written, long(sources, written)[:, -1:].argmax(-1)], dim=1)
    right = 0
    for row, (_, *ids) in zip(rows, written.tolist(), strict=True):
        symbols = list(takewhile(lambda id: id != end, ids))
        right += sum(one == other for one, other in zip(symbols, row[::-1], strict=False))
    assert statuses[-1].symbols_when_longer == pytest.approx(right / 1200)
