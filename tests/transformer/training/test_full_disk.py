"""A disk that is full: one sentence, the earlier save whole, and the run goes on when there is room again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.short_run import PAIRS, VALID, Killed, end_of, experiment, run, stop_at
from support.tiny import write_pairs, write_toml

from transformer.__main__ import main
from transformer.training.state import SavedRun

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.usefixtures("command_line")


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 4 MB of its own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount a disk")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.fixture
def arguments(tmp_path) -> list[str]:
    """The short run as a command line, --out left to the test."""
    config = write_toml(tmp_path / "short.toml", experiment())
    data, valid = write_pairs(tmp_path / "a.tsv", PAIRS), write_pairs(tmp_path / "b.tsv", VALID)
    return ["train", str(config), "--data", str(data), "--valid", str(valid), "--device", "cpu", "--out"]


def fill(disk: Path) -> None:
    """Leave no room on a disk."""
    with open(disk / "filler", "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


def test_a_full_disk_stops_the_run_in_one_sentence_and_it_goes_on_from_the_save_before(
    small_disk, arguments, uninterrupted, monkeypatch, capsys
):
    out, calls, save_state = small_disk / "run", [], SavedRun.save

    def save(*state):
        calls.append(1)
        if len(calls) == 3:
            fill(small_disk)
        save_state(*state)

    with monkeypatch.context() as patch:
        patch.setattr(SavedRun, "save", save)
        assert main([*arguments, str(out)]) == 1
    told = capsys.readouterr().err
    assert told == (
        f"headlight: {out}/resume/next.safetensors cannot be written: No space left on device; "
        "--resume goes on from the last save.\n"
    )
    assert end_of(out)["progress"]["step"] == 5, "the second save is whole"
    assert not list(out.rglob("*.part"))
    (small_disk / "filler").unlink()
    assert main([*arguments, str(out), "--resume"]) == 0
    assert end_of(out) == uninterrupted


def test_a_disk_that_is_full_from_the_start_is_told_too(small_disk, arguments, capsys):
    fill(small_disk)
    assert main([*arguments, str(small_disk / "run")]) == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "No space left on device" in told


def test_a_real_process_whose_write_fails_ends_with_one_sentence(arguments, uninterrupted, tmp_path, monkeypatch):
    """The system refuses to let its files grow, whoever runs this test."""
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        stop_at(patch, "learning_rate", 8, Killed)
        with pytest.raises(Killed):
            run(out)
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000)); "
        "from transformer.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments, str(out), "--resume"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    told = [line for line in done.stderr.splitlines() if line.startswith("headlight: ")]
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert len(told) == 1 and "cannot be written: File too large; --resume goes on" in told[0]
    assert end_of(out)["progress"]["step"] == 6
    run(out, resume=True)
    assert end_of(out) == uninterrupted


def test_a_first_save_that_cannot_be_written_says_that_nothing_was_saved(arguments, tmp_path, monkeypatch, capsys):
    def full(handle):
        raise OSError(28, "No space left on device")

    save_state = SavedRun.save

    def save(*state):
        monkeypatch.setattr(os, "fsync", full)
        save_state(*state)

    monkeypatch.setattr(SavedRun, "save", save)
    assert main([*arguments, str(tmp_path / "run")]) == 1
    told = capsys.readouterr().err
    assert told.endswith("next.safetensors cannot be written: No space left on device; nothing was saved yet.\n")
    assert not list((tmp_path / "run").rglob("*.part"))
