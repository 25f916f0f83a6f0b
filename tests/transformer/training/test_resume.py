"""A run that was killed and resumed ends as if it had never stopped, bit for bit."""

import json
import logging
import signal
from dataclasses import replace

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
        ("validation_score", 1, KeyboardInterrupt),  # within a validation
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
    for _ in range(2):  # a finished run stays as it is
        run(tmp_path, resume=True)
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


def test_no_bit_of_a_save_changes_unnoticed(tmp_path):
    path = tmp_path / "sealed"
    save_checksummed(path, {"step/a": torch.tensor(3.0), "weight/a": torch.arange(6.0).reshape(2, 3)})
    content = path.read_bytes()
    assert set(load_checksummed(path)) == {"step/a", "weight/a"}
    for at in range(len(content)):
        for damaged in (content[:at], content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]):
            path.write_bytes(damaged)
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
    assert main([*command, str(tmp_path / "run"), "--data", "a.tsv"]) == 1
    assert "give --valid" in capsys.readouterr().err and not (tmp_path / "run").exists()
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


def test_a_damaged_save_and_one_of_another_model_are_refused_and_a_damaged_replay_begins_anew(tmp_path, caplog):
    with pytest.MonkeyPatch.context() as patch:
        stop_at(patch, "learning_rate", 11, Killed)
        with pytest.raises(Killed):
            run(tmp_path)
    for changes in ({"d_model": 24}, {"num_decoder_layers": 3}, {"num_heads": 2}, {"dropout": 0.3}):
        other = replace(experiment(), model=replace(experiment().model, **changes))
        with pytest.raises(CheckpointError, match="does not fit this configuration|is of another model"):
            train(other, PAIRS, VALID, tmp_path, CPU, resume=True)
    folder = tmp_path / "resume"
    (folder / "state.safetensorsabc.part").write_bytes(b"half")
    save = (folder / "state.safetensors").read_bytes()
    (folder / "state.safetensors").write_bytes(save[:-1])
    with pytest.raises(CheckpointError, match="state.safetensors is damaged"):
        run(tmp_path, resume=True)
    (folder / "state.safetensors").write_bytes(save)
    (folder / "replay.safetensors").write_bytes(b"")
    with caplog.at_level(logging.WARNING):
        run(tmp_path, resume=True)
    assert "The replay begins at step 10." in caplog.text and not list(tmp_path.rglob("*.part"))
