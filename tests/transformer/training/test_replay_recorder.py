"""The replay of a training run: what is kept, and that training does not notice."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.models import record_one
from support.short_run import PAIRS, VALID, Killed, experiment, run, stop_at

from transformer.config import ReplayConfig
from transformer.data.tokenizer import Tokenizer
from transformer.decoding.sampling import Greedy, decode
from transformer.errors import ConfigError
from transformer.files import load_checksummed
from transformer.model.transformer import Transformer
from transformer.training.replay import load_replay, snapshot_steps
from transformer.training.state import Progress
from transformer.training.trainer import train

CPU = torch.device("cpu")
PROBES = [["red dog.", "rot Hund."], ["big old tree.", "groß alt Baum."]]


def recorded(probes=PROBES):
    return replace(experiment(), replay=ReplayConfig(probes))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The short run with a replay of two probes."""
    out = tmp_path_factory.mktemp("recorded") / "run"
    train(recorded(), PAIRS, VALID, out, CPU)
    return out


def test_the_replay_has_every_snapshot_the_losses_and_the_scores(folder):
    replay = load_replay(folder / "replay.safetensors")
    assert replay.steps.tolist() == snapshot_steps(12) and replay.steps[0] == 0 and replay.steps[-1] == 12
    assert [(trajectory.source_text, trajectory.target_text) for trajectory in replay.trajectories] == list(
        map(tuple, PROBES)
    )
    assert replay.losses[:, 0].tolist() == list(range(1, 13)) and replay.score_name == "BLEU"
    history = json.loads(bytes(load_checksummed(folder / "resume" / "state.safetensors")["progress"].tolist()))[
        "history"
    ]
    assert replay.scores.tolist() == [[row["step"], row["valid_bleu"]] for row in history]
    means = [replay.losses[:5, 1].mean(), replay.losses[5:10, 1].mean(), replay.losses[10:, 1].mean()]
    assert means == pytest.approx([row["train_loss"] for row in history])


def test_its_last_snapshot_shows_the_weights_of_the_last_step(folder):
    """Maps, probabilities and output, recomputed from the saved weights in a model of their own."""
    state = load_checksummed(folder / "resume" / "state.safetensors")
    model, tokenizer = Transformer(experiment().model).eval(), Tokenizer.load(folder / "tokenizer.model")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(state[f"weight/{name}"])
    trajectory = load_replay(folder / "replay.safetensors").trajectories[1]
    source = [*tokenizer.encode(PROBES[1][0]), 3]
    target = tokenizer.encode(PROBES[1][1])
    seen = record_one(model, source, [2, *target])
    for kind in ("encoder", "decoder", "cross"):
        np.testing.assert_allclose(getattr(trajectory, kind)[-1], getattr(seen, kind), atol=5e-4)
    chosen = seen.logits.softmax(-1)[range(len(target) + 1), [*target, 3]]
    np.testing.assert_allclose(trajectory.probabilities[-1], chosen, rtol=2e-3, atol=1e-6)
    assert trajectory.outputs[-1] == tokenizer.decode(decode(model, [source], Greedy())[0].ids)
    assert np.abs(trajectory.probabilities[-1] - trajectory.probabilities[0]).max() > 1e-3


def test_training_does_not_notice_that_it_is_recorded(folder, tmp_path):
    train(recorded([]), PAIRS, VALID, tmp_path / "run", CPU)
    with_replay, without = (
        load_checksummed(out / "resume" / "state.safetensors") for out in (folder, tmp_path / "run")
    )
    for name in with_replay.keys() - {"progress"}:
        assert torch.equal(with_replay[name], without[name]), name
    assert (folder / "model.safetensors").read_bytes() == (tmp_path / "run" / "model.safetensors").read_bytes()
    assert not list((tmp_path / "run").rglob("replay*"))


def test_a_kept_checkpoint_has_its_replay_before_the_run_is_over(tmp_path, monkeypatch):
    stop_at(monkeypatch, "learning_rate", 9, Killed)
    with pytest.raises(Killed):
        run(tmp_path / "run")
    assert load_replay(tmp_path / "run" / "replay.safetensors").steps[-1] == 5


def test_a_resumed_run_does_not_take_up_a_replay_of_other_probes(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_at(patch, "learning_rate", 9, Killed)
        with pytest.raises(Killed):
            train(recorded(), PAIRS, VALID, tmp_path / "run", CPU)
    with pytest.raises(ConfigError, match="is of other probes than the configuration's"):
        train(recorded(PROBES[:1]), PAIRS, VALID, tmp_path / "run", CPU, resume=True)


@pytest.mark.parametrize(("text", "tokens"), [("red " * 30, "[0-9]+"), ("\u200b", "0")])
def test_a_probe_that_the_model_cannot_read_is_refused(tmp_path, text, tokens):
    with pytest.raises(ConfigError, match=f"probe .* has {tokens} tokens; the model reads 1 to 23"):
        train(recorded([["red dog.", text]]), PAIRS, VALID, tmp_path / "run", CPU)


@pytest.mark.parametrize(
    "probes", ["red", [["red"]], [["red", "rot", "x"]], [["red", 3]], [["red", " "]], [3], 7, {"red": "rot"}]
)
def test_probes_that_are_no_pairs_of_texts_are_refused(probes):
    with pytest.raises(ConfigError, match="probes must be a list of pairs of texts"):
        ReplayConfig(probes)


def test_a_long_run_keeps_a_thinned_curve():
    progress, losses = Progress(), np.random.default_rng(1).random(6000)
    for step, loss in enumerate(losses, start=1):
        progress.step = step
        progress.count(float(loss), 6000)
    steps, means = zip(*progress.curve, strict=True)
    assert steps == tuple(range(20, 6001, 20))
    np.testing.assert_allclose(means, losses.reshape(300, 20).mean(1))
    assert progress.take_mean_loss() == pytest.approx(losses.mean()) and progress.take_mean_loss() == 0
