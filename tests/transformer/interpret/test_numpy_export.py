"""The program that the page gives away: short, runnable anywhere, and its numbers are those on the page."""

import io
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from support.models import random_sources, small_model

from transformer.interpret.attention_block import (
    BlockParameters,
    Stages,
    block_parameters,
    bundle,
    compute_stages,
    record_stages,
    script,
)
from transformer.model.names import AttentionKind


def run(tmp_path, packed: bytes) -> str:
    zipfile.ZipFile(io.BytesIO(packed)).extractall(tmp_path)
    done = subprocess.run(
        [sys.executable, "-I", tmp_path / "attention.py"], capture_output=True, text=True, cwd="/", timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def printed_weights(out: str) -> np.ndarray:
    text = out.split("rows are queries:\n")[1].replace("[", " ").replace("]", " ")
    return np.array([[float(number) for number in line.split()] for line in text.strip().splitlines()])


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("kind", AttentionKind)
def test_it_prints_the_numbers_of_the_model(tmp_path, kind, norm):
    model = small_model(5, norm=norm)
    stages = record_stages(model, random_sources(7)[0], [2, 9, 8, 5, 4], kind, 1)
    parameters = block_parameters(model, kind, 1)
    program = script(stages, parameters, 'A "title" \\', cross=kind == "cross", sentence=0, head=2)
    out = run(tmp_path, bundle(stages, parameters, program))
    assert len(program.splitlines()) < 40
    assert sorted(zipfile.ZipFile(io.BytesIO(bundle(stages, parameters, program))).namelist()) == [
        "attention.npz",
        "attention.py",
    ]
    assert np.abs(printed_weights(out) - stages.weights[0, 2]).max() <= 5.1e-5
    gaps = [float(line.split("differs by ")[1].split()[0]) for line in out.splitlines() if "differs by" in line]
    assert len(gaps) == 9 and max(gaps) < 1e-4
    assert str(stages.weights.shape) in out


def test_a_long_sentence_is_printed_whole(tmp_path):
    model = small_model(5, max_length=64)
    stages = record_stages(model, random_sources(60)[0], [2, 9, 8], "encoder", 0)
    parameters = block_parameters(model, "encoder", 0)
    program = script(stages, parameters, "Long", cross=False, sentence=0, head=3)
    weights = printed_weights(run(tmp_path, bundle(stages, parameters, program)))
    assert weights.shape == stages.weights.shape[2:] and weights.shape[0] >= 60


def test_a_row_without_an_open_key_prints_zeros(tmp_path):
    generator = np.random.default_rng(1)
    matrices, vectors = generator.normal(size=(4, 8, 8)), generator.normal(size=(6, 8))
    parameters = BlockParameters(*matrices, *vectors, 1e-5, 2, "post")
    unmasked = np.ones((2, 3, 3), dtype=bool)
    unmasked[1, 2] = False
    stages: Stages = compute_stages(generator.normal(size=(2, 3, 8)), None, unmasked, parameters)
    program = script(stages, parameters, "Toy", cross=False, sentence=1, head=0)
    assert not printed_weights(run(tmp_path, bundle(stages, parameters, program)))[2].any()
