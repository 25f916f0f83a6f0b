"""The cached results: shared by equal requests, computed anew when files change; errors are not cached."""

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

from headlight.app import results
from headlight.app.results import TranslationRequest, measures
from transformer import Beam, Greedy, Sampling, UserError

TEXT = "big old tree."


@pytest.fixture
def checkpoint(trained_folder, tmp_path, monkeypatch) -> results.CheckpointFiles:
    """A checkpoint of this test alone."""
    shutil.copytree(trained_folder, tmp_path / "mine")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    return results.checkpoint("mine")


def test_equal_requests_share_a_read_only_result_and_every_field_tells_two_apart(checkpoint):
    first = TranslationRequest(checkpoint, TEXT, Beam(2, 0.6))
    others = [
        replace(first, text="big tree."),
        replace(first, strategy=Greedy()),
        replace(first, strategy=Sampling(seed=2)),
        replace(first, strategy=Beam(3, 0.6)),
        replace(first, strategy=Beam(2, 0.9)),
        replace(first, prefix=results.trace(first).target_ids[:1]),
        replace(first, rank=2),
    ]
    traces = [results.trace(request) for request in (first, *others)]
    assert len({id(trace) for trace in traces}) == len(traces)
    assert results.trace(TranslationRequest(results.checkpoint("mine"), TEXT, Beam(2, 0.6))) is traces[0]
    assert results.trace(replace(first, rank=99)).target_ids == traces[-1].target_ids != traces[0].target_ids
    stages, *_ = measures.stages(first, "encoder", 0)
    for array in (traces[0].encoder, results.residual_stream(first).logits, stages.weights):
        with pytest.raises(ValueError):
            array[...] = np.zeros_like(array)


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.model", "training.json"])
def test_a_changed_file_makes_another_checkpoint(checkpoint, file, tmp_path):
    before = results.translator(checkpoint)
    changed_at = (tmp_path / "mine" / file).stat().st_mtime_ns + 1_000_000
    os.utime(tmp_path / "mine" / file, ns=(changed_at, changed_at))
    assert results.checkpoint("mine") != checkpoint and results.checkpoint("mine").name == checkpoint.name == "mine"
    assert results.translator(results.checkpoint("mine")) is not before
    assert results.translator(checkpoint) is before


def test_a_copy_in_another_folder_is_another_checkpoint(checkpoint, trained_folder, tmp_path, monkeypatch):
    shutil.copytree(trained_folder, tmp_path / "elsewhere" / "mine")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path / "elsewhere")
    assert results.checkpoint("mine").written == checkpoint.written
    assert results.translator(results.checkpoint("mine")) is not results.translator(checkpoint)


def test_an_error_is_not_cached(checkpoint, tmp_path):
    weights, request = tmp_path / "mine" / "model.safetensors", TranslationRequest(checkpoint, TEXT)
    content, times = weights.read_bytes(), (weights.stat().st_atime_ns, weights.stat().st_mtime_ns)
    weights.write_bytes(content[:100])
    os.utime(weights, ns=times)
    for compute, key in ((results.translator, checkpoint), (results.trace, request)):
        with pytest.raises(UserError):
            compute(key)
    weights.write_bytes(content)
    os.utime(weights, ns=times)
    assert results.trace(request).source_text == TEXT
