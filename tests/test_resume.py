"""A run that was killed and resumed ends as if it had never stopped, bit for bit."""

import json
import shutil
import signal
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file
from tiny import make_pairs, tiny_experiment

from transformer import resume, training
from transformer.config import ModelConfig
from transformer.errors import CheckpointError, ConfigError
from transformer.training import train

CPU = torch.device("cpu")
PAIRS, VALID = make_pairs(120, 1), make_pairs(8, 2)


class Killed(BaseException):
    """Stands for SIGKILL: nobody catches it, nothing is saved on the way out."""


def experiment():
    """12 steps over more than one epoch, with dropout and joined pairs, so that all random state matters."""
    settings = {"max_steps": 12, "batch_tokens": 150, "validate_every": 5, "save_every": 3, "cooldown_steps": 4}
    plain = tiny_experiment(**settings, join_probability=0.2, average_last=2)
    model = ModelConfig(**{**plain.as_dict()["model"], "dropout": 0.2, "d_model": 16, "d_ff": 24, "vocab_size": 88})
    tokenizer = type(plain.tokenizer)(vocab_size=88)
    return type(plain)(model=model, tokenizer=tokenizer, training=plain.training, data=plain.data)


def run(out, resume: bool = False) -> None:
    train(experiment(), PAIRS, VALID, out, CPU, resume)


def end_of(out) -> dict:
    """All that a run ends with, but for times and for means over one session's steps."""
    state = load_file(out / "resume" / "state.safetensors")
    progress = json.loads(bytes(state.pop("progress").tolist()))
    progress.pop("seconds")
    for row in progress["history"]:
        row.pop("seconds"), row.pop("train_loss")
    files = {path.name: path.read_bytes() for path in out.rglob("*") if path.suffix in (".safetensors", ".model")}
    files.pop("state.safetensors")
    return {"state": {name: value.tolist() for name, value in state.items()}, "progress": progress, "files": files}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> dict:
    out = tmp_path_factory.mktemp("uninterrupted")
    run(out)
    end = end_of(out)
    assert end["progress"]["step"] == 12 and end["progress"]["epoch"] >= 1
    return end


def stop_at(monkeypatch, place: str, call: int, stop: type[BaseException]) -> None:
    """Let the function at `place` stop its run when it is called for the given time."""
    module, name = (training, place) if hasattr(training, place) else (resume, place)
    original, calls = getattr(module, name), []

    def count(*arguments, **named):
        calls.append(1)
        if len(calls) == call:
            raise stop
        return original(*arguments, **named)

    monkeypatch.setattr(module, name, count)


@pytest.mark.parametrize(
    ("place", "call", "stop"),
    [
        ("learning_rate", 2, Killed),  # before anything was saved
        ("smoothed_cross_entropy", 8, Killed),  # in the middle of a step
        ("smoothed_cross_entropy", 8, KeyboardInterrupt),
        ("validation_score", 1, Killed),  # within a validation
        ("validation_score", 1, KeyboardInterrupt),
        ("save_checkpoint", 2, Killed),  # a validation measured but not kept
        ("drop_snapshots", 2, Killed),  # a validation kept and saved but not tidied up
        ("save_state", 3, Killed),  # instead of a save
    ],
)
def test_a_stopped_run_ends_like_an_uninterrupted_one(tmp_path, monkeypatch, uninterrupted, place, call, stop):
    with monkeypatch.context() as patch:
        stop_at(patch, place, call, stop)
        with pytest.raises(stop):
            run(tmp_path)
    run(tmp_path, resume=resume.has_state(tmp_path / "resume"))
    end = end_of(tmp_path)
    assert end["state"] == uninterrupted["state"]
    assert end["progress"] == uninterrupted["progress"]
    assert end["files"] == uninterrupted["files"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_signal_finishes_the_step_saves_and_goes_on_from_there(tmp_path, monkeypatch, uninterrupted, number):
    before = signal.signal(number, signal.default_int_handler)  # as the command line has it
    with monkeypatch.context() as patch:
        original, calls = training.smoothed_cross_entropy, []

        def interrupt(*arguments):
            calls.append(1)
            if len(calls) == 8:
                signal.raise_signal(number)
            return original(*arguments)

        patch.setattr(training, "smoothed_cross_entropy", interrupt)
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


@pytest.fixture
def stopped(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_at(patch, "learning_rate", 5, Killed)
        with pytest.raises(Killed):
            run(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "changes",
    [{"d_model": 24}, {"d_ff": 40}, {"num_encoder_layers": 1}, {"num_decoder_layers": 3}, {"share_embeddings": False}],
    ids=str,
)
def test_a_run_of_another_shape_is_not_resumed(stopped, changes):
    plain = experiment()
    model = ModelConfig(**{**plain.as_dict()["model"], **changes})
    other = type(plain)(model=model, tokenizer=plain.tokenizer, training=plain.training, data=plain.data)
    with pytest.raises(CheckpointError, match="does not fit this configuration"):
        train(other, PAIRS, VALID, stopped, CPU, resume=True)


@pytest.mark.parametrize("changes", [{"num_heads": 2}, {"dropout": 0.3}, {"max_length": 30}], ids=str)
def test_a_run_of_another_model_with_the_same_shapes_is_not_resumed(stopped, changes):
    plain = experiment()
    assert all(getattr(plain.model, name) != value for name, value in changes.items())
    other = replace(plain, model=replace(plain.model, **changes))
    with pytest.raises(CheckpointError, match="is of another model"):
        train(other, PAIRS, VALID, stopped, CPU, resume=True)


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x80\x02}q\x00."])
def test_a_damaged_state_is_refused(stopped, content):
    (stopped / "resume" / "state.safetensors").write_bytes(content)
    with pytest.raises(CheckpointError, match="damaged"):
        run(stopped, resume=True)


def test_a_missing_snapshot_is_named(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_at(patch, "learning_rate", 8, Killed)
        with pytest.raises(Killed):
            run(tmp_path)
    for path in (tmp_path / "resume").glob("snapshot-*"):
        path.unlink()
    with pytest.raises(CheckpointError, match="snapshot-0000005.safetensors is missing"):
        run(tmp_path, resume=True)


def test_resuming_where_a_finished_checkpoint_lies_without_its_run_leaves_it_alone(tmp_path):
    run(tmp_path)
    shutil.rmtree(tmp_path / "resume")  # as in a fresh clone: the unfinished run is not part of the repository
    before = (tmp_path / "model.safetensors").read_bytes()
    with pytest.raises(ConfigError, match="no unfinished run"):
        run(tmp_path, resume=True)
    assert (tmp_path / "model.safetensors").read_bytes() == before
