"""A long training on batches of many shapes holds no more memory at its end than after its first steps."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from transformer.model.device import PRIMITIVE_CACHE, PYTORCHS_CACHE

ROOT = Path(__file__).parents[3]
SETTLED = 200  # steps after which nothing new is kept
TOLERANCE = 8  # MB


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> dict:
    """Of each precision the number of shapes and the MB held after each step."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    command = [sys.executable, "-m", "support.many_shapes", str(tmp_path_factory.mktemp("shapes"))]
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "HEADLIGHT_DEVICE": "cpu"}
    for variable in (PRIMITIVE_CACHE, PYTORCHS_CACHE):
        environment.pop(variable, None)
    # The same programs on every machine: those for AVX-512's own bfloat16 need 500 shapes, not 200, until they settle.
    environment["ONEDNN_MAX_CPU_ISA"] = "AVX2"
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="the memory is read from /proc")
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_memory_stays_as_it_is_after_the_first_steps(measured, precision):
    shapes, held = measured[precision]["shapes"], measured[precision]["held"]
    assert shapes > 150 and len(held) > SETTLED + 100
    assert measured[precision]["primitives"] == "64", "the command itself has set it"
    assert max(held[SETTLED:]) - held[SETTLED] < TOLERANCE, held[::20]
