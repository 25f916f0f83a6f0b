"""A run that was killed and resumed ends as if it had never stopped, bit for bit."""

import json
import logging
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from support.short_run import CPU, PAIRS, VALID, Killed, end_of, experiment, run, stop_at
from support.tiny import make_pairs, write_pairs, write_toml

from transformer.__main__ import main
from transformer.errors import CheckpointError
from transformer.files import load_checksummed, save_checksummed
from transformer.training import updates
from transformer.training.state import SavedRun
from transformer.training.trainer import interruptions_held, train


@pytest.mark.parametrize(
    ("function", "call", "stop"),
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
def test_a_stopped_run_ends_like_an_uninterrupted_one(tmp_path, monkeypatch, uninterrupted, function, call, stop):
    with monkeypatch.context() as patch:
        stop_at(patch, function, call, stop)
        with pytest.raises(stop):
            run(tmp_path)
    run(tmp_path, resume=SavedRun(tmp_path / "resume").exists())
    assert end_of(tmp_path) == uninterrupted


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


def test_resuming_begins_anew_where_nothing_was_saved_and_changes_nothing_of_a_finished_run(tmp_path, uninterrupted):
    run(tmp_path, resume=True)
    run(tmp_path, resume=True)
    assert end_of(tmp_path) == uninterrupted


@pytest.mark.parametrize(
    "changes",
    [{"d_model": 24}, {"num_encoder_layers": 1}, {"num_decoder_layers": 3}, {"share_embeddings": False}]
    + [{"num_heads": 2}, {"dropout": 0.3}, {"max_length": 30}],
    ids=str,
)
def test_a_run_of_another_model_is_not_resumed(stopped_run, tmp_path, changes):
    folder, plain = shutil.copytree(stopped_run, tmp_path / "run"), experiment()
    other = replace(plain, model=replace(plain.model, **changes))
    with pytest.raises(CheckpointError, match="does not fit this configuration|is of another model"):
        train(other, PAIRS, VALID, folder, CPU, resume=True)


@pytest.fixture(scope="module")
def stopped_run(tmp_path_factory) -> Path:
    """Return the folder of a run that was killed at step 5."""
    folder = tmp_path_factory.mktemp("killed") / "run"
    with pytest.MonkeyPatch.context() as patch:
        stop_at(patch, "learning_rate", 5, Killed)
        with pytest.raises(Killed):
            run(folder)
    return folder


def flip(path: Path, at: float) -> None:
    """Change one bit of a file; at: share of the file before it."""
    content = bytearray(path.read_bytes())
    content[int(at * (len(content) - 1))] ^= 4
    path.write_bytes(content)


DAMAGE = {
    "emptied": lambda path: path.write_bytes(b""),
    "last byte missing": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "a bit of its content": lambda path: flip(path, 0.6),
}


def test_no_bit_of_a_save_changes_unnoticed(tmp_path):
    path = tmp_path / "sealed"
    save_checksummed(path, {"step/a": torch.tensor(3.0), "weight/a": torch.arange(6.0).reshape(2, 3)})
    content = path.read_bytes()
    assert set(load_checksummed(path)) == {"step/a", "weight/a"}
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(CheckpointError, match="is damaged"):
            load_checksummed(path)


def test_torchruns_copy_is_the_same_interruption_and_a_later_one_stops_at_once(monkeypatch):
    with interruptions_held() as stop:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        assert stop.is_set()
    monkeypatch.setattr("transformer.training.trainer._ONE_INTERRUPTION", 0)
    with pytest.raises(KeyboardInterrupt), interruptions_held():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)


def test_a_disk_that_is_full_ends_the_run_with_a_sentence(tmp_path, monkeypatch):
    save, calls = SavedRun.save, []

    def full(*state):
        calls.append(1)
        if len(calls) in (1, 3):
            raise OSError(28, "No space left on device", "next.safetensors")
        save(*state)

    monkeypatch.setattr(SavedRun, "save", full)
    for resume, message in ((False, "nothing was saved yet"), (True, "--resume goes on from the last save")):
        with pytest.raises(
            CheckpointError, match=f"next.safetensors cannot be written: No space left on device; {message}"
        ):
            run(tmp_path, resume=resume)


@pytest.mark.usefixtures("command_line")
def test_a_killed_run_of_the_command_line_on_several_corpora_ends_like_a_whole_one(tmp_path, monkeypatch, capsys):
    """Over several epochs, each with other pieces and another half of the first corpus."""
    config = write_toml(tmp_path / "short.toml", experiment())
    command = ["train", str(config), "--out"]
    for options, name in (([], "`train` in [data]: add it, or give --data"), (["--data", "a.tsv"], "give --valid")):
        assert main([*command, str(tmp_path / "run"), *options]) == 1
        assert name in capsys.readouterr().err and not (tmp_path / "run").exists()
    short = replace(experiment(), training=replace(experiment().training, batch_tokens=400, segmentation_dropout=0.3))
    files = 'train = [{file = "a.tsv", weight = 0.5}, {file = "b.tsv", weight = 1.5}]\nvalid = "valid.tsv"\n'
    config.write_text(write_toml(config, short).read_text().replace("[data]\n", "[data]\n" + files))
    for name, pairs in (("a", PAIRS), ("b", make_pairs(90, 8)), ("valid", VALID)):
        write_pairs(tmp_path / f"{name}.tsv", pairs)
    assert main([*command, str(tmp_path / "whole")]) == 0
    with monkeypatch.context() as patch:
        stop_at(patch, "learning_rate", 8, Killed)
        with pytest.raises(Killed):
            main([*command, str(tmp_path / "stopped")])
    assert main([*command, str(tmp_path / "stopped"), "--resume"]) == 0
    end = end_of(tmp_path / "whole")
    assert end == end_of(tmp_path / "stopped") and end["progress"]["epoch"] >= 1
    training = json.loads((tmp_path / "whole" / "training.json").read_text())
    assert training["training_pairs"] == len(PAIRS) + 90 and training["data"] == experiment().as_dict()["data"]
    assert training["training_files"] == [
        {"file": "a.tsv", "weight": 0.5, "pairs": len(PAIRS)},
        {"file": "b.tsv", "weight": 1.5, "pairs": 90},
    ]
    other = write_pairs(tmp_path / "other.tsv", make_pairs(70, 5))
    assert main([*command, str(tmp_path / "other"), "--data", str(other)]) == 0, "options come before the configuration"
    training = json.loads((tmp_path / "other" / "training.json").read_text())
    assert training["training_pairs"] == 70 and "training_files" not in training


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_save_is_refused_and_a_damaged_replay_begins_anew(tmp_path, caplog, damage):
    with pytest.MonkeyPatch.context() as patch:
        stop_at(patch, "learning_rate", 11, Killed)
        with pytest.raises(Killed):
            run(tmp_path)
    folder = tmp_path / "resume"
    (folder / "state.safetensorsabc.part").write_bytes(b"half")
    save = (folder / "state.safetensors").read_bytes()
    DAMAGE[damage](folder / "state.safetensors")
    with pytest.raises(CheckpointError, match="state.safetensors is damaged"):
        run(tmp_path, resume=True)
    (folder / "state.safetensors").write_bytes(save)
    flip(folder / "replay.safetensors", 0.01)
    with caplog.at_level(logging.WARNING):
        run(tmp_path, resume=True)
    assert "The replay begins at step 10." in caplog.text and not list(tmp_path.rglob("*.part"))
