"""Damaged files of an unfinished run: noticed, told in one sentence, and gone back from."""

import json
import logging
import os
import shutil
from pathlib import Path

import pytest
import torch
from support.short_run import Killed, end_of, run, stop_at

from transformer.errors import CheckpointError
from transformer.files import load_checksummed, save_checksummed


def step_of(path: Path) -> int:
    return json.loads(bytes(load_checksummed(path)["progress"].tolist()))["step"]


@pytest.fixture(scope="module")
def killed(tmp_path_factory) -> Path:
    """A run killed at step 11: its last save is of step 10, with a validation; the one before it is of step 9."""
    folder = tmp_path_factory.mktemp("killed") / "run"
    with pytest.MonkeyPatch.context() as patch:
        stop_at(patch, "learning_rate", 11, Killed)
        with pytest.raises(Killed):
            run(folder)
    assert step_of(folder / "resume" / "state.safetensors") == 10
    assert step_of(folder / "resume" / "previous.safetensors") == 9
    return folder


@pytest.fixture
def stopped(killed, tmp_path) -> Path:
    """A copy of the killed run to damage."""
    return Path(shutil.copytree(killed, tmp_path / "run"))


def flip(path: Path, place: float) -> None:
    """Change one bit of a file, `place` of the way into it."""
    content = bytearray(path.read_bytes())
    content[int(place * (len(content) - 1))] ^= 4
    path.write_bytes(content)


DAMAGE = {
    "emptied": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "last byte missing": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "a bit of its header": lambda path: flip(path, 0.01),
    "a bit of its content": lambda path: flip(path, 0.6),
    "something else": lambda path: path.write_bytes(b"\x80\x02}q\x00."),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_where_the_last_save_is_damaged_the_one_before_it_is_used(stopped, uninterrupted, caplog, damage):
    state = stopped / "resume" / "state.safetensors"
    DAMAGE[damage](state)
    with caplog.at_level(logging.WARNING):
        run(stopped, resume=True)
    assert caplog.messages == [
        f"{state} is damaged (kept as state.damaged): going back to the save before it, of step 9."
    ]
    assert end_of(stopped) == uninterrupted


def test_no_bit_of_a_save_changes_unnoticed(tmp_path):
    path = tmp_path / "sealed"
    save_checksummed(path, {"step/a": torch.tensor(3.0), "weight/a": torch.arange(6.0).reshape(2, 3)})
    content = path.read_bytes()
    assert set(load_checksummed(path)) == {"step/a", "weight/a"}
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(CheckpointError, match="is damaged"):
            load_checksummed(path)


def test_two_damaged_saves_cannot_be_resumed(stopped):
    for name in ("state", "previous"):
        flip(stopped / "resume" / f"{name}.safetensors", 0.6)
    with pytest.raises(CheckpointError, match="previous.safetensors is damaged"):
        run(stopped, resume=True)


@pytest.mark.parametrize("rename", [1, 2])
def test_killed_between_the_renames_of_a_save_it_goes_on_from_one_that_is_whole(
    stopped, uninterrupted, monkeypatch, rename
):
    with monkeypatch.context() as patch:
        names, original = [], os.replace

        def replace(source, target):
            if Path(target).stem in ("state", "previous"):
                names.append(Path(target).stem)
                if len(names) == rename:
                    raise Killed
            original(source, target)

        patch.setattr(os, "replace", replace)
        with pytest.raises(Killed):
            run(stopped, resume=True)
    assert names == ["previous", "state"][:rename]
    assert (stopped / "resume" / "state.safetensors").exists() == (rename == 1)
    run(stopped, resume=True)
    assert end_of(stopped) == uninterrupted


def test_what_was_left_half_written_is_tidied_up(stopped):
    (stopped / "resume" / "next.safetensorsabc.part").write_bytes(b"half")
    (stopped / "training.jsonabc.part").write_bytes(b"half")
    run(stopped, resume=True)
    assert not list(stopped.rglob("*.part"))


@pytest.mark.parametrize("damage", ["missing", "a bit of its content"])
def test_a_mean_does_without_damaged_weights_and_says_so(stopped, caplog, damage):
    snapshot = stopped / "resume" / "snapshot-0000010.safetensors"
    snapshot.unlink() if damage == "missing" else DAMAGE[damage](snapshot)
    with caplog.at_level(logging.WARNING):
        run(stopped, resume=True)
    assert len(caplog.messages) == 1 and str(snapshot) in caplog.text
    assert "The next mean of weights leaves step 10 out." in caplog.text
    assert end_of(stopped)["progress"]["averaged_steps"] == [12]


def test_a_damaged_replay_is_told_and_begun_anew(stopped, uninterrupted, caplog):
    flip(stopped / "resume" / "replay.safetensors", 0.01)
    with caplog.at_level(logging.WARNING):
        run(stopped, resume=True)
    assert "replay.safetensors is damaged" in caplog.text and "The replay begins at step 10." in caplog.text
    assert end_of(stopped)["state"] == uninterrupted["state"]
