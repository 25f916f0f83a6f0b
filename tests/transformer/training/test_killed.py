"""SIGKILL at random moments, as a user or the system does it: the run ends as if nothing had happened."""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from support.short_run import PAIRS, VALID, end_of, experiment
from support.tiny import write_pairs, write_toml

from transformer.__main__ import main

ROOT = Path(__file__).parents[3]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "HEADLIGHT_DEVICE": "cpu"}
COMMAND = [sys.executable, "-m", "transformer"]

# The same command, which kills itself when it has asked the disk for the given time to keep what was written.
KILLED_WHILE_SAVING = """
import os, signal, sys
from transformer.__main__ import main
left, fsync = int(sys.argv[1]), os.fsync
def count(handle):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    fsync(handle)
os.fsync = count
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture
def arguments(tmp_path, monkeypatch) -> list[str]:
    """A run of 60 steps as a command line, --out left to the test; in this process on one thread, as in the others."""
    settings = {"max_steps": 60, "validate_every": 10, "save_every": 3}
    longer = replace(experiment(), training=replace(experiment().training, **settings))
    config = write_toml(tmp_path / "short.toml", longer)
    data, valid = write_pairs(tmp_path / "a.tsv", PAIRS), write_pairs(tmp_path / "b.tsv", VALID)
    threads, handler = torch.get_num_threads(), signal.getsignal(signal.SIGTERM)
    monkeypatch.setenv("HEADLIGHT_DEVICE", "cpu")
    torch.set_num_threads(1)
    yield ["train", str(config), "--data", str(data), "--valid", str(valid), "--resume", "--out"]
    torch.set_num_threads(threads)
    signal.signal(signal.SIGTERM, handler)


def kill_after(seconds: float, command: list[str]) -> int:
    """Start it, let it train for so long, kill it; returns its exit status."""
    with subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as run:
        for line in run.stderr:
            if "parameters, " in line:
                time.sleep(seconds)
                run.kill()
                break
        run.stderr.read()
    return run.returncode


def test_a_run_killed_again_and_again_ends_with_the_same_weights_history_and_replay(tmp_path, arguments):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    started = time.monotonic()
    assert main([*arguments, str(whole)]) == 0
    seconds = time.monotonic() - started
    moments, write = [random.uniform(0, seconds / 3) for _ in range(2)], random.randint(3, 20)
    killed_command = [*arguments, str(killed)]
    saving = [sys.executable, "-c", KILLED_WHILE_SAVING, str(write), *killed_command]
    assert subprocess.run(saving, cwd=ROOT, env=ENVIRONMENT, capture_output=True).returncode == -signal.SIGKILL
    for moment in moments:
        assert kill_after(moment, [*COMMAND, *killed_command]) in (-signal.SIGKILL, 0)  # 0: it was faster
    assert main(killed_command) == 0
    assert end_of(killed) == end_of(whole), f"killed at write {write}, then after {moments} seconds of training"
