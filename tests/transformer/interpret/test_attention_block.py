"""Stages of an attention block, against NumPy on the checkpoint's file alone and PyTorch's fused kernel."""

import io
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import torch
from support.by_hand import ByHand
from support.models import attention_blocks, random_sources, small_model
from support.tolerance import near
from support.traces import CHECKPOINTS, loaded, trace_of
from torch.nn import functional as F

from transformer.arrays import softmax
from transformer.interpret.attention_block import (
    BlockParameters,
    block_parameters,
    bundle,
    compute_stages,
    merge_heads,
    record_stages,
    script,
    split_heads,
    undivided,
)
from transformer.model.names import AttentionKind

TEXTS = {
    "en-de": ["The dog didn't eat because it was too old.", "☃ Ærøskøbing 12,345!"],
    "reverse": ["x", "reverse me", "a b c d e f"],
}


@pytest.mark.parametrize("name", TEXTS)
def test_every_stage_of_every_head_is_what_the_file_gives(name):
    translator, by_hand, worst = loaded(name), ByHand(CHECKPOINTS / name), 0.0
    for text in TEXTS[name]:
        trace = trace_of(name, text)
        by_hand.run(trace.source_ids, trace.decoder_input_ids)
        for (kind, layer), expected in by_hand.stages.items():
            shown = record_stages(translator.model, trace.source_ids, trace.decoder_input_ids, kind, layer)
            for stage, array in expected.items():
                recorded = getattr(shown, stage)[0]
                assert recorded.shape == array.shape, (kind, layer, stage)
                worst = max(worst, np.abs(recorded - array).max() / np.abs(array).max())
    assert len(by_hand.stages) == sum(len(attention_blocks(translator.model, kind)) for kind in AttentionKind)
    assert 0 < worst < 1e-4


@pytest.mark.parametrize("kind, layer", [("encoder", 2), ("cross", -1), ("both", 0)])
def test_a_block_that_is_not_there_is_refused(kind, layer):
    model = small_model()
    with pytest.raises(ValueError):
        record_stages(model, [4, 3], [2], kind, layer)
    with pytest.raises(ValueError):
        block_parameters(model, kind, layer)


def test_a_row_without_an_open_key_is_what_the_fused_kernel_makes_of_it():
    generator = np.random.default_rng(1)
    x, parts = generator.normal(size=(2, 3, 8)), [generator.normal(size=(8, 8)) for _ in range(4)]
    parameters = BlockParameters(*parts, *[generator.normal(size=8) for _ in range(6)], 1e-5, 2, "post")
    unmasked = np.ones((2, 3, 3), dtype=bool)
    unmasked[1, 2] = False
    stages = compute_stages(x, None, unmasked, parameters)
    assert not stages.weights[1, :, 2].any() and np.allclose(stages.weights[0].sum(-1), 1)
    split = [torch.tensor(split_heads(part, 2)) for part in (stages.query, stages.key, stages.value)]
    fused = F.scaled_dot_product_attention(*split, attn_mask=torch.tensor(unmasked)[:, None]).numpy()
    assert np.allclose(merge_heads(fused), stages.concatenated)
    assert np.isfinite(stages.result).all()


def test_large_scores_do_not_overflow():
    weights = softmax(np.array([[1e6, 1e6 - 1, -1e6]]), np.array([[True, True, True]]))
    assert np.allclose(weights, [[1 / (1 + np.exp(-1)), 1 / (1 + np.e), 0]])


def test_the_undivided_weights_are_softmax_of_the_products_themselves():
    stages = record_stages(small_model(), random_sources(7)[0], [2, 5, 9, 11, 4], "decoder", 1)
    without, divided = undivided(stages, 3)
    powers = np.exp(stages.products[0, 3].astype(np.float64)) * np.tri(5)
    np.testing.assert_allclose(without, powers / powers.sum(axis=1, keepdims=True), atol=1e-12)
    powers = powers ** (1 / np.sqrt(6))
    assert divided == near(powers / powers.sum(axis=1, keepdims=True))
    assert without.dtype == divided.dtype == np.float64


@pytest.mark.parametrize("kind, norm", [("encoder", "pre"), ("decoder", "post"), ("cross", "pre")])
def test_the_numpy_program_is_short_and_prints_the_numbers_of_the_model(tmp_path, kind, norm):
    model = small_model(5, norm=norm, max_length=64)
    stages = record_stages(model, random_sources(60)[0], [2, 9, 8, 5, 4], kind, 1)
    parameters = block_parameters(model, kind, 1)
    program = script(stages, parameters, 'A "title" \\', cross=kind == "cross", sentence=0, head=2)
    assert len(program.splitlines()) < 40
    with zipfile.ZipFile(io.BytesIO(bundle(stages, parameters, program))) as archive:
        archive.extractall(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"attention.npz", "attention.py"}
    command = [sys.executable, "-I", tmp_path / "attention.py"]
    out = subprocess.run(command, capture_output=True, text=True, cwd="/", timeout=60, check=True).stdout
    lines = out.split("rows are queries:\n")[1].replace("[", " ").replace("]", " ").strip().splitlines()
    weights = np.array([[float(number) for number in line.split()] for line in lines])
    assert np.abs(weights - stages.weights[0, 2]).max() <= 5.1e-5
    gaps = [float(line.split("differs by ")[1].split()[0]) for line in out.splitlines() if "differs by" in line]
    assert len(gaps) == 9 and max(gaps) < 1e-4
