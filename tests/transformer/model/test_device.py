"""Which device computes, and what it keeps."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from transformer.errors import DeviceError
from transformer.model.device import PRIMITIVE_CACHE, choose_device, describe_device, keep_freed_memory

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def no_wish(monkeypatch):
    monkeypatch.delenv("HEADLIGHT_DEVICE", raising=False)


@pytest.fixture
def cards(monkeypatch):
    """Pretend that this machine has two CUDA cards."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


@pytest.fixture
def no_cards(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)


def test_the_best_device_is_chosen_when_none_is_asked_for(cards):
    assert choose_device() == torch.device("cuda")


def test_mps_comes_after_cuda_and_before_the_cpu(no_cards, monkeypatch):
    assert choose_device() == torch.device("cpu")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert choose_device() == torch.device("mps")


def test_the_environment_variable_is_obeyed(cards, monkeypatch):
    monkeypatch.setenv("HEADLIGHT_DEVICE", "cpu")
    assert choose_device() == torch.device("cpu")


def test_an_argument_beats_the_environment_variable(cards, monkeypatch):
    monkeypatch.setenv("HEADLIGHT_DEVICE", "cpu")
    assert choose_device("cuda:1") == torch.device("cuda:1")


def test_an_empty_environment_variable_is_no_wish(no_cards, monkeypatch):
    monkeypatch.setenv("HEADLIGHT_DEVICE", "")
    assert choose_device() == torch.device("cpu")


@pytest.mark.parametrize("name", ["abacus", "cuda:x", "cpu cpu", "cuda:-1", "🙂", "CPU", "cuda:99999999999"])
def test_an_unknown_name_is_refused(no_cards, name):
    with pytest.raises(DeviceError, match="There is no device called|is not available"):
        choose_device(name)


def test_a_wrong_environment_variable_is_refused(no_cards, monkeypatch):
    monkeypatch.setenv("HEADLIGHT_DEVICE", "abacus")
    with pytest.raises(DeviceError, match="'abacus'; choose cpu, cuda or mps"):
        choose_device()


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "mps", "meta", "xpu"])
def test_a_device_that_is_not_there_is_refused(no_cards, name):
    with pytest.raises(DeviceError, match=f"'{name}' is not available on this machine"):
        choose_device(name)


def test_a_card_beyond_the_last_is_refused(cards):
    with pytest.raises(DeviceError, match="this machine has 2"):
        choose_device("cuda:2")


def test_a_device_is_described_in_words(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert describe_device(torch.device("cpu")) == "CPU (2 threads)"
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert describe_device(torch.device("cpu")) == "CPU (1 thread)"
    assert describe_device(torch.device("mps")) == "Apple GPU (MPS)"


def test_keeping_freed_memory_does_nothing_elsewhere(monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    assert keep_freed_memory() is None


# Convolutions are what PyTorch gives to oneDNN on any x86 processor; it says of each operation whether it was kept.
CONVOLUTIONS = """
import torch
from transformer.model.device import bound_primitive_cache
bound_primitive_cache()
weight = torch.ones(64, 32, 3, 3)
for size in (*range(20, 90), 89, 20):
    torch.nn.functional.conv2d(torch.ones(4, 32, size, 20), weight)
"""


@pytest.mark.parametrize(("given", "last"), [(None, "cache_miss"), ("2000", "cache_hit")])
def test_onednn_keeps_few_primitives_unless_the_user_says_how_many(given, last):
    """The newest shape is still known when it comes again, the first of 70 is not, or is, where 2,000 are allowed."""
    environment = {name: value for name, value in os.environ.items() if name != PRIMITIVE_CACHE}
    environment |= {"ONEDNN_VERBOSE": "2", "OMP_NUM_THREADS": "1"} | ({PRIMITIVE_CACHE: given} if given else {})
    command = [sys.executable, "-c", CONVOLUTIONS]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    made = [line for line in done.stdout.splitlines() if ",create:" in line and ",convolution," in line]
    assert len(made) == 72 and all("cache_miss" in line for line in made[:70])
    assert "cache_hit" in made[70] and last in made[71]
