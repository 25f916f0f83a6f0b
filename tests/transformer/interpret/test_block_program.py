"""The NumPy program of an attention block: short, runnable anywhere, and its numbers are the model's."""

import io
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from support.models import random_sources, small_model

from transformer.interpret.attention_block import (
    block_parameters,
    bundle,
    record_stages,
    script,
)
from transformer.model.names import AttentionKind


def run(tmp_path, stages, parameters, **options) -> tuple[str, np.ndarray]:
    """Unpack and run the program; return its output, and the weights that it prints."""
    program = script(stages, parameters, 'A "title" \\', **options)
    assert len(program.splitlines()) < 40
    with zipfile.ZipFile(io.BytesIO(bundle(stages, parameters, program))) as archive:
        assert sorted(archive.namelist()) == ["attention.npz", "attention.py"]
        archive.extractall(tmp_path)
    done = subprocess.run(
        [sys.executable, "-I", tmp_path / "attention.py"], capture_output=True, text=True, cwd="/", timeout=60
    )
    assert done.returncode == 0, done.stderr
    text = done.stdout.split("rows are queries:\n")[1].replace("[", " ").replace("]", " ")
    return done.stdout, np.array([[float(number) for number in line.split()] for line in text.strip().splitlines()])


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("kind", AttentionKind)
def test_it_prints_the_numbers_of_the_model(tmp_path, kind, norm):
    model = small_model(5, norm=norm, max_length=64)
    stages = record_stages(model, random_sources(60)[0], [2, 9, 8, 5, 4], kind, 1)
    out, weights = run(tmp_path, stages, block_parameters(model, kind, 1), cross=kind == "cross", sentence=0, head=2)
    assert np.abs(weights - stages.weights[0, 2]).max() <= 5.1e-5
    gaps = [float(line.split("differs by ")[1].split()[0]) for line in out.splitlines() if "differs by" in line]
    assert len(gaps) == 9 and max(gaps) < 1e-4
    assert str(stages.weights.shape) in out
