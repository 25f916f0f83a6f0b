"""What a run can be asked for: an early end, a warm start, event files."""

import builtins
import json
import logging
from dataclasses import replace

import pytest
import torch
from support.short_run import Killed, stop_at
from support.tiny import make_pairs, tiny_experiment
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from transformer.checkpoint import load_checkpoint
from transformer.config import ReplayConfig
from transformer.errors import CheckpointError, ConfigError
from transformer.evaluation import Score
from transformer.training.replay import load_replay
from transformer.training.trainer import train

CPU = torch.device("cpu")
PAIRS, VALID = make_pairs(400, 1), make_pairs(5, 2)


def experiment(**training):
    settings = {"max_steps": 20, "validate_every": 2, "save_every": 3, "cooldown_steps": 0, **training}
    return replace(tiny_experiment(**settings), replay=ReplayConfig([["red dog.", "rot Hund."]]))


def score_like(monkeypatch, scores: list[float]) -> None:
    """Let the validations score this, one after the other."""
    coming = iter(scores)
    monkeypatch.setattr(
        "transformer.training.validation.validation_score",
        lambda *_: Score(next(coming), chrf=0.0, signature="", sentences=1),
    )


def test_a_run_ends_early_after_so_many_validations_without_a_better_one(tmp_path, monkeypatch, caplog):
    score_like(monkeypatch, [5.0, 9.0, 9.0, 7.0, 8.0, 20.0])
    with caplog.at_level(logging.INFO):
        train(experiment(patience=3), PAIRS, VALID, tmp_path / "run", CPU)
    assert "no better BLEU in 3 validations: stopped early, at step 10" in caplog.messages
    checkpoint = load_checkpoint(tmp_path / "run")
    assert checkpoint.training["steps"] == 4
    assert checkpoint.training["stopped_early"] == {"step": 10, "patience": 3}
    assert load_replay(tmp_path / "run" / "replay.safetensors").steps[-1] == 10


def test_a_run_that_ended_early_is_over_when_it_is_resumed(tmp_path, monkeypatch):
    score_like(monkeypatch, [5.0, 4.0, 3.0])
    train(experiment(patience=2), PAIRS, VALID, tmp_path / "run", CPU)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    train(experiment(patience=2), PAIRS, VALID, tmp_path / "run", CPU, resume=True)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_patience_counts_across_an_interruption(tmp_path, monkeypatch):
    score_like(monkeypatch, [5.0, 4.0, 3.0])
    with monkeypatch.context() as patch:
        stop_at(patch, "learning_rate", 6, Killed)
        with pytest.raises(Killed):
            train(experiment(patience=2), PAIRS, VALID, tmp_path / "run", CPU)
    train(experiment(patience=2), PAIRS, VALID, tmp_path / "run", CPU, resume=True)
    assert load_checkpoint(tmp_path / "run").training["stopped_early"] == {"step": 6, "patience": 2}


def test_without_patience_a_run_never_ends_early(tmp_path, monkeypatch):
    score_like(monkeypatch, [5.0] + [1.0] * 9)
    train(experiment(), PAIRS, VALID, tmp_path / "run", CPU)
    training = json.loads((tmp_path / "run" / "training.json").read_text())
    assert training["steps"] == 2 and "stopped_early" not in training
    assert load_replay(tmp_path / "run" / "replay.safetensors").steps[-1] == 20


def test_a_warm_start_begins_with_the_weights_and_the_tokenizer_of_a_checkpoint(trained_folder, tmp_path, caplog):
    """With so small a rate that the weights are still those of the checkpoint."""
    settings = {"max_steps": 2, "rate_factor": 1e-6}
    with caplog.at_level(logging.INFO):
        train(experiment(**settings), make_pairs(400, 99), VALID, tmp_path / "warm", CPU, warm_start=trained_folder)
    given, warm = load_checkpoint(trained_folder), load_checkpoint(tmp_path / "warm")
    assert warm.tokenizer.model == given.tokenizer.model and "learning a tokenizer" not in caplog.text
    for ours, theirs in zip(warm.model.parameters(), given.model.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=0)
    assert warm.training["warm_start"] == str(trained_folder)
    assert warm.history[0]["valid_loss"] < 0.5


def test_a_warm_start_that_was_interrupted_is_resumed_and_not_begun_anew(trained_folder, tmp_path, monkeypatch):
    ends = []
    for name, call in (("whole", 0), ("stopped", 7)):
        with monkeypatch.context() as patch:
            stop_at(patch, "learning_rate", call, Killed)
            try:
                train(experiment(max_steps=9), PAIRS, VALID, tmp_path / name, CPU, warm_start=trained_folder)
            except Killed:
                again = {"resume": True, "warm_start": trained_folder}
                train(experiment(max_steps=9), PAIRS, VALID, tmp_path / name, CPU, **again)
        ends.append(load_checkpoint(tmp_path / name))
    assert ends[0].training["warm_start"] == ends[1].training["warm_start"]
    for whole, stopped in zip(*(end.model.parameters() for end in ends), strict=True):
        assert torch.equal(whole, stopped)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 64}, "d_model is 48 there, 64 here"),
        ({"num_heads": 2, "norm": "pre"}, "num_heads is 4 there, 2 here; norm is post there, pre here"),
        ({"share_embeddings": False}, "share_embeddings is True there, False here"),
    ],
)
def test_a_warm_start_from_another_shape_is_refused_with_what_differs(trained_folder, tmp_path, changes, message):
    plain = experiment()
    other = replace(plain, model=replace(plain.model, **changes))
    with pytest.raises(CheckpointError, match=message):
        train(other, PAIRS, VALID, tmp_path / "run", CPU, warm_start=trained_folder)
    assert not (tmp_path / "run").exists()


def test_a_warm_start_from_nothing_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="There is no checkpoint folder"):
        train(experiment(), PAIRS, VALID, tmp_path / "run", CPU, warm_start=tmp_path / "nothing")


def read_events(folder) -> dict[str, list[tuple[int, float]]]:
    events = EventAccumulator(str(folder)).Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_event_files_hold_the_curves_and_go_on_where_a_killed_run_is_resumed(tmp_path, monkeypatch):
    """Killed after step 11, saved at step 10: step 11 is told by both sessions and must count once."""
    out, events = tmp_path / "run", tmp_path / "events"
    with monkeypatch.context() as patch:
        stop_at(patch, "learning_rate", 12, Killed)
        with pytest.raises(Killed):
            train(experiment(validate_every=4, save_every=5), PAIRS, VALID, out, CPU, tensorboard=events)
    train(experiment(validate_every=4, save_every=5), PAIRS, VALID, out, CPU, resume=True, tensorboard=events)
    curves, history = read_events(events), load_checkpoint(out).history
    assert [step for step, _ in curves["loss/training"]] == list(range(1, 21))
    assert [step for step, _ in curves["rate"]] == list(range(1, 21))
    assert [step for step, _ in curves["BLEU/validation"]] == [4, 8, 12, 16, 20]
    found = dict(curves["loss/validation"])
    assert history and all(found[row["step"]] == pytest.approx(row["valid_loss"], rel=1e-4) for row in history)


def test_event_files_without_their_package_are_refused_with_what_to_install(tmp_path, monkeypatch):
    original = builtins.__import__

    def without(name, *arguments):
        if name.startswith("torch.utils.tensorboard"):
            raise ImportError(name)
        return original(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match="headlight-transformer\\[train\\]"):
        train(experiment(), PAIRS, VALID, tmp_path / "run", CPU, tensorboard=tmp_path / "events")
