"""The choice of a device, and the number of primitives that oneDNN keeps."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from transformer.errors import DeviceError
from transformer.model.device import PRIMITIVE_CACHE, choose_device

ROOT = Path(__file__).parents[3]


def set_machine(monkeypatch, kind: str, variable: str = "") -> None:
    """Make a machine with two CUDA cards, with MPS, or with neither; variable: the device named in the environment."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: kind == "cuda")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: kind == "mps")
    monkeypatch.setenv("HEADLIGHT_DEVICE", variable)


def test_the_argument_comes_first_then_the_variable_then_the_best_device(monkeypatch):
    for kind, expected in (("cuda", "cuda"), ("mps", "mps"), ("", "cpu")):
        set_machine(monkeypatch, kind)
        assert choose_device() == torch.device(expected)
    set_machine(monkeypatch, "cuda", "cpu")
    assert (choose_device(), choose_device("cuda:1")) == (torch.device("cpu"), torch.device("cuda:1"))
    with pytest.raises(DeviceError, match="this machine has 2"):
        choose_device("cuda:2")


@pytest.mark.parametrize("name", ["abacus", "cuda:x", "cuda:-1", "🙂", "cuda:99999999999", "cuda", "mps", "meta"])
def test_an_unknown_or_missing_device_is_refused_by_its_name(monkeypatch, name):
    for variable, argument in (("", name), (name, None)):
        set_machine(monkeypatch, "", variable)
        with pytest.raises(DeviceError, match=f"'{name}'"):
            choose_device(argument)


# Convolutions are what PyTorch gives to oneDNN on any x86 processor; oneDNN logs each operation as a hit or a miss.
CONVOLUTIONS = """
import torch
from transformer.model.device import bound_primitive_cache
bound_primitive_cache()
weight = torch.ones(64, 32, 3, 3)
for size in (*range(20, 90), 89, 20):
    torch.nn.functional.conv2d(torch.ones(4, 32, size, 20), weight)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("capacity", "last"), [(None, "cache_miss"), ("2000", "cache_hit")])
def test_onednn_keeps_64_primitives_unless_the_environment_names_another_number(capacity, last):
    """The newest shape is a hit, the first of 70 a miss, or a hit where 2,000 are allowed."""
    environment = {name: value for name, value in os.environ.items() if name != PRIMITIVE_CACHE}
    environment |= {"ONEDNN_VERBOSE": "2", "OMP_NUM_THREADS": "1"} | ({PRIMITIVE_CACHE: capacity} if capacity else {})
    command = [sys.executable, "-c", CONVOLUTIONS]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    made = [line for line in done.stdout.splitlines() if ",create:" in line and ",convolution," in line]
    assert len(made) == 72 and all("cache_miss" in line for line in made[:70])
    assert "cache_hit" in made[70] and last in made[71]
