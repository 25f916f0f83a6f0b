"""Training end to end on a tiny language."""

import json
import logging
import shutil
from dataclasses import replace

import pytest
import torch
from support.short_run import Killed, stop_at
from support.tiny import make_pairs, tiny_experiment
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from transformer.checkpoint import load_checkpoint
from transformer.config import ReplayConfig
from transformer.errors import CheckpointError, ConfigError, DataError
from transformer.evaluation import Score
from transformer.training.optimization import learning_rate
from transformer.training.replay import load_replay
from transformer.training.trainer import Trainer, train
from transformer.training.validation import validation_loss, validation_score

CPU = torch.device("cpu")


def make_trainer(tokenizer, out, **training) -> Trainer:
    return Trainer(tiny_experiment(**training), tokenizer, make_pairs(60, 1), make_pairs(9, 2), out, CPU)


def test_the_loss_falls_and_the_translations_become_good(trained_folder):
    history = load_checkpoint(trained_folder).history
    assert [row["step"] for row in history] == [100, 200, 250]
    losses = [row["valid_loss"] for row in history]
    assert losses == sorted(losses, reverse=True) and losses[-1] < 0.5
    assert history[-1]["train_loss"] < history[0]["train_loss"]
    assert history[-1]["valid_bleu"] > 60
    experiment = tiny_experiment()
    for row in history:
        rate = learning_rate(int(row["step"]), experiment.model.d_model, experiment.training)
        assert row["rate"] == pytest.approx(rate, rel=1e-4)


def test_the_checkpoint_records_its_training(trained_folder):
    training = json.loads((trained_folder / "training.json").read_text())
    configuration = tiny_experiment().as_dict()
    assert training["configuration"] == configuration and training["data"] == configuration["data"]
    assert (training["steps"], training["seed"], training["training_pairs"]) == (250, 1, 1500)
    assert training["device"].startswith("CPU (")
    assert set(training["scores"]) == {"valid_loss", "validation greedy"}
    assert "tok:13a" in training["scores"]["validation greedy"]["signature"]
    checkpoint, pairs = load_checkpoint(trained_folder), make_pairs(40, 2)[:30]
    again = validation_score(checkpoint.model, checkpoint.tokenizer, pairs)
    assert again.bleu == pytest.approx(training["scores"]["validation greedy"]["bleu"], abs=3)


def test_the_saved_weights_are_the_mean_of_the_last_validations(tokenizer, tmp_path, monkeypatch):
    seen = []
    settings = {"max_steps": 6, "validate_every": 2, "save_every": 2, "average_last": 2, "cooldown_steps": 0}
    trainer = make_trainer(tokenizer, tmp_path, **settings)

    def look(*_) -> Score:
        seen.append({name: p.detach().clone() for name, p in trainer.model.named_parameters()})
        return Score(float(len(seen)), chrf=0.0, signature="", sentences=1)

    monkeypatch.setattr("transformer.training.validation.validation_score", look)
    trainer.run()
    for name, parameter in trainer.validator.model.named_parameters():
        torch.testing.assert_close(parameter.detach(), (seen[1][name] + seen[2][name]) / 2)
    assert load_checkpoint(tmp_path).training["averaged_steps"] == [4, 6]
    assert len(list((tmp_path / "resume").glob("snapshot-*"))) == 2


def test_a_validation_leaves_long_pairs_out_and_its_loss_is_the_mean_of_all_tokens(trained_folder, tokenizer, tmp_path):
    pairs = [("red " * 60, "rot."), *make_pairs(5, 2)]
    trainer = Trainer(tiny_experiment(), tokenizer, make_pairs(20, 1), pairs, tmp_path, CPU)
    assert trainer.validator.pairs == pairs[1:] and len(trainer.validator.examples) == 5
    model, examples = load_checkpoint(trained_folder).model, trainer.loader.examples
    assert validation_loss(model, examples, 50) == pytest.approx(validation_loss(model, examples, 5000), rel=1e-4)
    with pytest.raises(DataError, match="No pair of the corpus fits a model of 24 tokens a side: 1 line"):
        Trainer(tiny_experiment(), tokenizer, pairs[:1], make_pairs(3, 2), tmp_path, CPU)


@pytest.mark.parametrize("finished", [True, False])
def test_an_existing_run_and_a_checkpoint_without_its_run_are_not_overwritten(tmp_path, finished):
    experiment = tiny_experiment(max_steps=2, validate_every=2 if finished else 1, cooldown_steps=0, save_every=1)
    train(experiment, make_pairs(400, 1), make_pairs(5, 2), tmp_path / "run", CPU)
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with pytest.raises(ConfigError, match="already holds a run; give --resume"):
        train(experiment, make_pairs(400, 1), make_pairs(5, 2), tmp_path / "run", CPU)
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before
    shutil.rmtree(tmp_path / "run" / "resume")  # as in a fresh clone
    for resume in (False, True):
        with pytest.raises(ConfigError, match="already holds a checkpoint and no unfinished run"):
            train(experiment, make_pairs(400, 1), make_pairs(5, 2), tmp_path / "run", CPU, resume=resume)
    assert all(path.read_bytes() == before[path] for path in (tmp_path / "run").rglob("*"))


PAIRS, VALID = make_pairs(400, 1), make_pairs(5, 2)


def experiment(**training):
    settings = {"max_steps": 20, "validate_every": 2, "save_every": 3, "cooldown_steps": 0, **training}
    return replace(tiny_experiment(**settings), replay=ReplayConfig([["red dog.", "rot Hund."]]))


def test_a_run_ends_early_after_so_many_validations_without_a_better_one(tmp_path, monkeypatch, caplog):
    scores = (Score(bleu, chrf=0.0, signature="", sentences=1) for bleu in (5.0, 9.0, 9.0, 7.0, 8.0, 20.0))
    monkeypatch.setattr("transformer.training.validation.validation_score", lambda *_: next(scores))
    with caplog.at_level(logging.INFO):
        train(experiment(patience=3), PAIRS, VALID, tmp_path / "run", CPU)
    assert "no better BLEU in 3 validations: stopped early, at step 10" in caplog.messages
    checkpoint = load_checkpoint(tmp_path / "run")
    assert checkpoint.training["steps"] == 4
    assert checkpoint.training["stopped_early"] == {"step": 10, "patience": 3}
    assert load_replay(tmp_path / "run" / "replay.safetensors").steps[-1] == 10


def test_a_warm_start_begins_with_the_weights_and_the_tokenizer_of_a_checkpoint(trained_folder, tmp_path, caplog):
    """With so small a rate that the weights are still those of the checkpoint."""
    settings = {"max_steps": 2, "rate_factor": 1e-6}
    with caplog.at_level(logging.INFO):
        train(experiment(**settings), make_pairs(400, 99), VALID, tmp_path / "warm", CPU, warm_start=trained_folder)
    start, warm = load_checkpoint(trained_folder), load_checkpoint(tmp_path / "warm")
    assert warm.tokenizer.model == start.tokenizer.model and "learning a tokenizer" not in caplog.text
    for ours, theirs in zip(warm.model.parameters(), start.model.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=0)
    assert warm.training["warm_start"] == str(trained_folder)
    assert warm.history[0]["valid_loss"] < 0.5
    for changes, message in (
        ({"num_heads": 2, "norm": "pre"}, "num_heads is 4 there, 2 here; norm is post there, pre here"),
        ({"share_embeddings": False}, "share_embeddings is True there, False here"),
    ):
        other = replace(experiment(), model=replace(experiment().model, **changes))
        with pytest.raises(CheckpointError, match=message):
            train(other, PAIRS, VALID, tmp_path / "run", CPU, warm_start=trained_folder)
        assert not (tmp_path / "run").exists()


def read_events(folder) -> dict[str, list[tuple[int, float]]]:
    events = EventAccumulator(str(folder)).Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_event_files_hold_the_curves_and_go_on_where_a_killed_run_is_resumed(tmp_path, monkeypatch):
    """Killed after step 11, saved at step 10: both sessions write step 11, which must count once."""
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
    losses = dict(curves["loss/validation"])
    assert history and all(losses[row["step"]] == pytest.approx(row["valid_loss"], rel=1e-4) for row in history)
