"""Two processes that train one model, started by torchrun as a user does it, and over gloo."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from support.short_run import PAIRS, VALID, end_of, experiment
from support.tiny import make_pairs, tiny_experiment, write_pairs, write_toml

from transformer.__main__ import main
from transformer.errors import DeviceError
from transformer.files import load_checksummed
from transformer.model.distributed import joined
from transformer.training.trainer import train

ROOT = Path(__file__).parents[3]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
CPU = torch.device("cpu")


def run(command: list[str], *arguments: str | Path) -> subprocess.CompletedProcess:
    """Run a command in new processes; fails when they do not end."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HEADLIGHT_DEVICE": "cpu", "PYTHONPATH": path}
    return subprocess.run(
        [*command, *map(str, arguments)], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )


def arguments(folder: Path, config, pairs) -> list[str]:
    """Return a run as a command line without the value of --out."""
    config = write_toml(folder / "tiny.toml", config)
    data, valid = write_pairs(folder / "a.tsv", pairs), write_pairs(folder / "b.tsv", VALID)
    return ["train", str(config), "--data", str(data), "--valid", str(valid), "--out"]


def progress_of(out: Path) -> dict:
    return json.loads(bytes(load_checksummed(out / "resume" / "state.safetensors")["progress"].tolist()))


@pytest.mark.usefixtures("command_line")
def test_two_processes_have_the_losses_of_one(tmp_path):
    """50 steps of 3 accumulated batches each, some of a single row, of which one process gets nothing."""
    config = tiny_experiment(max_steps=50, batch_tokens=24, accumulate=3, validate_every=25, cooldown_steps=10)
    command = arguments(tmp_path, config, make_pairs(400, 1))
    done = run([*TORCHRUN, "-m", "transformer"], *command, tmp_path / "two")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("validation at step 25") == 1, "one process logs"
    assert "2 processes, each on CPU" in json.loads((tmp_path / "two" / "training.json").read_text())["device"]
    assert main([*command, str(tmp_path / "one")]) == 0
    one, two = progress_of(tmp_path / "one"), progress_of(tmp_path / "two")
    assert [step for step, _ in two["curve"]] == list(range(1, 51))
    assert [loss for _, loss in two["curve"]] == pytest.approx([loss for _, loss in one["curve"]], rel=1e-4)
    assert one["curve"][-1][1] < 0.8 * one["curve"][0][1], "something was learned, so the updates agreed too"
    assert two["history"][-1]["valid_loss"] == pytest.approx(one["history"][-1]["valid_loss"], rel=1e-4)


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory) -> tuple[Path, dict[str, list[int]], str]:
    """Return the folder, exit statuses and standard error of `support.two_processes`."""
    folder = tmp_path_factory.mktemp("scenarios")
    (folder / "arguments.json").write_text(
        json.dumps([*arguments(folder, experiment(), PAIRS), str(folder / "failed")])
    )
    done = run([sys.executable, "-m", "support.two_processes"], folder)
    assert done.returncode == 0, done.stderr
    return folder, json.loads((folder / "statuses.json").read_text()), done.stderr


def test_a_signal_to_one_process_stops_both_at_one_step_and_both_are_resumed(scenarios, caplog):
    folder, statuses, errors = scenarios
    assert statuses["stop_and_resume"] == [0, 0], errors
    assert [json.loads((folder / f"stopped-{rank}.json").read_text()) for rank in (0, 1)] == [8, 8]
    assert end_of(folder / "stopped") == end_of(folder / "whole")
    random = load_checksummed(folder / "whole" / "resume" / "state.safetensors")["random"]
    assert len(random) == 2 and not torch.equal(random[0], random[1]), "each drops out other values"
    longer = replace(experiment(), training=replace(experiment().training, max_steps=14))
    with caplog.at_level("INFO"):
        train(longer, PAIRS, VALID, folder / "whole", CPU, resume=True)
    assert "saved by 2 processes, resumed by 1: dropout is seeded anew" in caplog.text
    assert progress_of(folder / "whole")["step"] == 14


def test_several_processes_on_a_device_that_cannot_are_refused(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(DeviceError, match="on CPUs or NVIDIA GPUs, not on mps"), joined(torch.device("mps")):
        pass
