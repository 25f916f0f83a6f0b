"""A run that was killed and resumed ends as if it had never stopped, bit for bit."""

import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from support.short_run import CPU, PAIRS, VALID, Killed, end_of, experiment, run, stop_at

from transformer.config import ModelConfig
from transformer.errors import CheckpointError, ConfigError
from transformer.training import updates
from transformer.training.state import SavedRun
from transformer.training.trainer import train


@pytest.mark.parametrize(
    ("place", "call", "stop"),
    [
        ("learning_rate", 2, Killed),  # before anything was saved
        ("projected_cross_entropy", 8, Killed),  # in the middle of a step
        ("projected_cross_entropy", 8, KeyboardInterrupt),
        ("validation_score", 1, Killed),  # within a validation
        ("validation_score", 1, KeyboardInterrupt),
        ("save_checkpoint", 2, Killed),  # a validation measured but not kept
        ("drop_weights", 2, Killed),  # a validation kept and saved but not tidied up
        ("save", 3, Killed),  # instead of a save
        ("sync_folder", 4, Killed),  # a save renamed but not yet certain
    ],
)
def test_a_stopped_run_ends_like_an_uninterrupted_one(tmp_path, monkeypatch, uninterrupted, place, call, stop):
    with monkeypatch.context() as patch:
        stop_at(patch, place, call, stop)
        with pytest.raises(stop):
            run(tmp_path)
    run(tmp_path, resume=SavedRun(tmp_path / "resume").exists())
    end = end_of(tmp_path)
    assert end["state"] == uninterrupted["state"]
    assert end["progress"] == uninterrupted["progress"]
    assert end["files"] == uninterrupted["files"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_signal_finishes_the_step_saves_and_goes_on_from_there(tmp_path, monkeypatch, uninterrupted, number):
    before = signal.signal(number, signal.default_int_handler)  # as the command line has it
    with monkeypatch.context() as patch:
        original, calls = updates.projected_cross_entropy, []

        def interrupt(*arguments):
            calls.append(1)
            if len(calls) == 8:
                signal.raise_signal(number)
            return original(*arguments)

        patch.setattr(updates, "projected_cross_entropy", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path)
    assert end_of(tmp_path)["progress"]["step"] == 8, "the step under way is finished and saved"
    assert signal.signal(number, before) == signal.default_int_handler, "the handlers are put back"
    run(tmp_path, resume=True)
    assert end_of(tmp_path) == uninterrupted


def test_resuming_a_finished_run_changes_nothing(tmp_path, uninterrupted):
    run(tmp_path)
    run(tmp_path, resume=True)
    assert end_of(tmp_path) == uninterrupted


def test_resuming_where_nothing_was_saved_begins_anew(tmp_path, uninterrupted):
    run(tmp_path, resume=True)
    assert end_of(tmp_path) == uninterrupted


@pytest.fixture(scope="module")
def killed(tmp_path_factory) -> Path:
    """A run killed at step 5."""
    folder = tmp_path_factory.mktemp("killed") / "run"
    with pytest.MonkeyPatch.context() as patch:
        stop_at(patch, "learning_rate", 5, Killed)
        with pytest.raises(Killed):
            run(folder)
    return folder


@pytest.fixture
def stopped(killed, tmp_path) -> Path:
    """A copy of the killed run, to go on from."""
    return Path(shutil.copytree(killed, tmp_path / "run"))


@pytest.mark.parametrize(
    "changes",
    [{"d_model": 24}, {"d_ff": 40}, {"num_encoder_layers": 1}, {"num_decoder_layers": 3}, {"share_embeddings": False}],
    ids=str,
)
def test_a_run_of_another_shape_is_not_resumed(stopped, changes):
    plain = experiment()
    model = ModelConfig(**{**plain.as_dict()["model"], **changes})
    other = replace(plain, model=model)
    with pytest.raises(CheckpointError, match="does not fit this configuration"):
        train(other, PAIRS, VALID, stopped, CPU, resume=True)


@pytest.mark.parametrize("changes", [{"num_heads": 2}, {"dropout": 0.3}, {"max_length": 30}], ids=str)
def test_a_run_of_another_model_with_the_same_shapes_is_not_resumed(stopped, changes):
    plain = experiment()
    assert all(getattr(plain.model, name) != value for name, value in changes.items())
    other = replace(plain, model=replace(plain.model, **changes))
    with pytest.raises(CheckpointError, match="is of another model"):
        train(other, PAIRS, VALID, stopped, CPU, resume=True)


def test_resuming_where_a_finished_checkpoint_lies_without_its_run_leaves_it_alone(tmp_path):
    run(tmp_path)
    shutil.rmtree(tmp_path / "resume")  # as in a fresh clone: the unfinished run is not part of the repository
    before = (tmp_path / "model.safetensors").read_bytes()
    with pytest.raises(ConfigError, match="no unfinished run"):
        run(tmp_path, resume=True)
    assert (tmp_path / "model.safetensors").read_bytes() == before
