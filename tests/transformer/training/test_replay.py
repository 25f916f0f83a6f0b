"""The replay of a training: it equals traces of the model, survives its file, and does not change the training."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.models import small_model
from support.short_run import PAIRS, VALID, Killed, experiment, stop_at
from support.tiny import VOCABULARY
from support.tolerance import near

from transformer.config import ReplayConfig
from transformer.errors import CheckpointError, ConfigError
from transformer.files import load_checksummed
from transformer.model.names import AttentionKind
from transformer.training.replay import REPLAY_FILE, TrainingReplay, load_replay, snapshot_steps
from transformer.training.replay_recorder import ReplayRecorder
from transformer.training.trainer import train
from transformer.translator import Translator

PROBES = [("red dog tree.", "rot Hund."), ("small blue bird car.", "klein Wagen.")]
LOSSES, SCORES = [(2, 4.5), (4, 3.25)], [(4, 11.5)]


@pytest.fixture(scope="module")
def replay(tokenizer) -> TrainingReplay:
    """Return a replay of three snapshots, each of a model with other weights."""
    recorder = ReplayRecorder(tokenizer, PROBES)
    for step in (0, 2, 5):
        recorder.record(small_model(seed=step + 1, vocab_size=VOCABULARY), step)
    return recorder.replay(LOSSES, SCORES, "BLEU")


@pytest.fixture
def saved(replay, tmp_path) -> Path:
    path = tmp_path / REPLAY_FILE
    replay.save(path)
    return path


def test_a_snapshot_equals_a_trace_of_the_same_weights(replay, translator, tokenizer):
    recorder = ReplayRecorder(tokenizer, PROBES)
    recorder.record(translator.model, 7)
    for trajectory, (source, target) in zip(recorder.replay([], [], "BLEU").trajectories, PROBES, strict=True):
        trace = translator.trace(source, target=target)
        for kind in AttentionKind:
            np.testing.assert_array_equal(getattr(trajectory, kind)[0], trace.attention(kind))
        assert trajectory.probabilities[0] == near(trace.target_probabilities)
        tokens = (trajectory.source_tokens, trajectory.decoder_input_tokens, trajectory.target_tokens)
        assert tokens == (trace.source_tokens, trace.decoder_input_tokens, trace.target_tokens)
        assert trajectory.outputs == (translator.translate([source])[0],)
        with pytest.raises(ValueError, match="read-only"):
            trajectory.cross[0] = 0


@settings(deadline=None, derandomize=True, database=None)
@given(st.integers(1, 200_000))
def test_snapshots_rise_from_0_to_the_last_step_by_a_constant_factor(last):
    steps = snapshot_steps(last)
    assert steps[0] == 0 and steps[-1] == last and len(steps) <= 25
    assert all(type(step) is int for step in steps) and (np.diff(steps) > 0).all()
    ratios = np.array(steps[2:]) / np.array(steps[1:-1])
    assert last < 50_000 or (len(steps) == 25 and ratios.max() / ratios.min() < 1.05)


def test_a_recorder_goes_on_from_a_replay_of_its_probes(tokenizer, saved):
    loaded, model = load_replay(saved), small_model(seed=9, vocab_size=VOCABULARY)
    recorder, fresh = ReplayRecorder(tokenizer, PROBES), ReplayRecorder(tokenizer, PROBES)
    recorder.resume(loaded, until=3)
    assert recorder.steps == [0, 2], "step 5 is done again"
    for each in (recorder, fresh):
        each.record(model, 4)
    longer, only = recorder.replay(LOSSES, SCORES, "BLEU"), fresh.replay(LOSSES, SCORES, "BLEU")
    for before, now, after in zip(loaded.trajectories, longer.trajectories, only.trajectories, strict=True):
        np.testing.assert_array_equal(now.encoder[:2], before.encoder[:2])
        np.testing.assert_array_equal(now.encoder[2], after.encoder[0])
        assert now.outputs == (*before.outputs[:2], *after.outputs)
        assert now.decoder_input_tokens == before.decoder_input_tokens
    recorder.downsample()
    assert recorder.steps == [0, 4]
    halved = recorder.replay(LOSSES, SCORES, "BLEU")
    np.testing.assert_array_equal(halved.trajectories[1].cross, longer.trajectories[1].cross[::2])
    with pytest.raises(ValueError, match="other probes"):
        ReplayRecorder(tokenizer, PROBES[:1]).resume(loaded, until=5)
    with pytest.raises(ValueError, match="no snapshot"):
        ReplayRecorder(tokenizer, PROBES).replay([], [], "BLEU")
    for probes in ([], [("", "rot")], [("red", "")]):
        with pytest.raises(ValueError, match="probes"):
            ReplayRecorder(tokenizer, probes)


def test_a_replay_survives_its_file(replay, saved):
    odd = replace(replay.trajectories[0], outputs=("", "<img src=x onerror=alert(1)>\n\0", "größer “👩‍🏫” \u202e"))
    empty = np.zeros((0, 2))
    for stored in (replay, TrainingReplay(replay.steps, (odd,), empty, empty, "exact match")):
        stored.save(saved)
        loaded = load_replay(saved)
        pairs = [(stored, loaded), *zip(stored.trajectories, loaded.trajectories, strict=True)]
        for one, other in pairs:
            for name, value in vars(one).items():
                if isinstance(value, np.ndarray):
                    np.testing.assert_allclose(value, getattr(other, name), atol=0.0003, err_msg=name)
                elif name != "trajectories":
                    assert value == getattr(other, name), name
    assert list(saved.parent.iterdir()) == [saved]


def test_cut_missing_and_huge_files_and_parts_that_do_not_fit_are_refused(tmp_path, saved, monkeypatch):
    tensors, files = safetensors.torch.load_file(saved), [saved.read_bytes()[:-1], b"\x80\x04N."]
    for name, change in (
        ("0/cross", lambda cross: cross.log()),  # not finite
        ("0/cross", lambda cross: cross + 1),
        ("0/cross", lambda cross: cross[1:]),  # a snapshot too few
        ("steps", lambda steps: steps[[0, 2, 1]]),
        ("0/probabilities", lambda probabilities: probabilities[:, 1:]),  # a token too few
    ):
        files.append(safetensors.torch.save(tensors | {name: change(tensors[name]).contiguous()}))
    for content in files:
        saved.write_bytes(content)
        with pytest.raises(CheckpointError, match="is damaged or no training replay"):
            load_replay(saved)
    with pytest.raises(CheckpointError, match="is missing"):
        load_replay(tmp_path / "nowhere" / REPLAY_FILE)
    monkeypatch.setattr("transformer.training.replay._LARGEST_FILE", 10)
    with pytest.raises(CheckpointError, match="larger than"):
        load_replay(saved)


@pytest.mark.parametrize("name", ["en-de", "en-fr", "reverse"])
def test_a_shipped_replay_shows_the_training_of_its_checkpoint_and_is_small(name, checkpoints):
    path = checkpoints / name / REPLAY_FILE
    replay, translator = load_replay(path), Translator.load(path.parent, "cpu")
    assert path.stat().st_size <= 2_000_000 and replay.steps[0] == 0 and 20 <= len(replay.steps) <= 25
    for trajectory in replay.trajectories:
        trace = translator.trace(trajectory.source_text, target=trajectory.target_text)
        assert (trajectory.source_tokens, trajectory.target_tokens) == (trace.source_tokens, trace.target_tokens)
        first, last = (np.log(trajectory.probabilities[snapshot] + 1e-4).mean() for snapshot in (0, -1))
        assert last > first + 0.1, "it learns"
    assert any(trajectory.outputs[-1] == trajectory.target_text for trajectory in replay.trajectories)


CPU = torch.device("cpu")
RUN_PROBES = [["red dog.", "rot Hund."], ["big old tree.", "groß alt Baum."]]


def recorded(probes=RUN_PROBES):
    return replace(experiment(), replay=ReplayConfig(probes))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of the short run with a replay of two probes."""
    out = tmp_path_factory.mktemp("recorded") / "run"
    train(recorded(), PAIRS, VALID, out, CPU)
    return out


def test_the_replay_has_every_snapshot_the_losses_and_the_scores_and_leaves_the_training_alone(folder, tmp_path):
    train(recorded([]), PAIRS, VALID, tmp_path / "run", CPU)
    state, without = (load_checksummed(out / "resume" / "state.safetensors") for out in (folder, tmp_path / "run"))
    for name in state.keys() - {"progress"}:
        assert torch.equal(state[name], without[name]), name
    assert (folder / "model.safetensors").read_bytes() == (tmp_path / "run" / "model.safetensors").read_bytes()
    assert not list((tmp_path / "run").rglob("replay*"))
    replay, history = (
        load_replay(folder / "replay.safetensors"),
        json.loads(bytes(state["progress"].tolist()))["history"],
    )
    assert replay.steps.tolist() == snapshot_steps(12) and replay.score_name == "BLEU"
    assert [[each.source_text, each.target_text] for each in replay.trajectories] == RUN_PROBES
    assert replay.losses[:, 0].tolist() == list(range(1, 13))
    assert replay.scores.tolist() == [[row["step"], row["valid_bleu"]] for row in history]
    means = [replay.losses[part, 1].mean() for part in (slice(5), slice(5, 10), slice(10, None))]
    assert means == pytest.approx([row["train_loss"] for row in history])


def test_a_checkpoint_has_its_replay_before_the_end_and_other_probes_do_not_resume_it(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_at(patch, "learning_rate", 9, Killed)
        with pytest.raises(Killed):
            train(recorded(), PAIRS, VALID, tmp_path / "run", CPU)
    assert load_replay(tmp_path / "run" / "replay.safetensors").steps[-1] == 5
    with pytest.raises(ConfigError, match="is of other probes than the configuration's"):
        train(recorded(RUN_PROBES[:1]), PAIRS, VALID, tmp_path / "run", CPU, resume=True)


@pytest.mark.parametrize(("text", "tokens"), [("red " * 30, "[0-9]+"), ("\u200b", "0")])
def test_a_probe_that_the_model_cannot_read_is_refused(tmp_path, text, tokens):
    with pytest.raises(ConfigError, match=f"probe .* has {tokens} tokens; the model reads 1 to 23"):
        train(recorded([["red dog.", text]]), PAIRS, VALID, tmp_path / "run", CPU)
