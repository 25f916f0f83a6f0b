"""The cached functions: computed once for all who ask for the same, anew when files change, and errors are not kept."""

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
    shutil.copytree(trained_folder, tmp_path / "own")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    return results.checkpoint("own")


def test_who_asks_for_the_same_gets_the_same(checkpoint):
    assert results.trace(TranslationRequest(checkpoint, TEXT, Greedy())) is results.trace(
        TranslationRequest(checkpoint, TEXT, Greedy())
    )
    assert results.checkpoint("own") == checkpoint and checkpoint.name == "own"


def test_every_part_of_a_request_tells_two_apart(checkpoint):
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
    traces = [results.trace(choice) for choice in (first, *others)]
    assert len({id(trace) for trace in traces}) == len(traces)
    assert results.trace(replace(first, rank=99)).target_ids == results.trace(replace(first, rank=2)).target_ids


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.model", "training.json"])
def test_a_checkpoint_that_is_written_anew_is_read_anew(checkpoint, file, tmp_path):
    before = results.translator(checkpoint)
    written = (tmp_path / "own" / file).stat().st_mtime_ns + 1_000_000
    os.utime(tmp_path / "own" / file, ns=(written, written))
    assert results.checkpoint("own") != checkpoint
    assert results.translator(results.checkpoint("own")) is not before
    assert results.translator(checkpoint) is before


def test_another_folder_of_the_same_name_is_another_checkpoint(checkpoint, trained_folder, tmp_path, monkeypatch):
    shutil.copytree(trained_folder, tmp_path / "elsewhere" / "own")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path / "elsewhere")
    assert results.checkpoint("own").written == checkpoint.written, "a copy keeps the times"
    assert results.translator(results.checkpoint("own")) is not results.translator(checkpoint)


def test_an_error_is_not_kept(checkpoint, tmp_path):
    weights = tmp_path / "own" / "model.safetensors"
    whole = weights.read_bytes()
    times = weights.stat().st_atime_ns, weights.stat().st_mtime_ns
    weights.write_bytes(whole[:100])
    os.utime(weights, ns=times)
    with pytest.raises(UserError):
        results.translator(checkpoint)
    with pytest.raises(UserError):
        results.trace(TranslationRequest(checkpoint, TEXT))
    weights.write_bytes(whole)
    os.utime(weights, ns=times)
    assert results.trace(TranslationRequest(checkpoint, TEXT)).source_text == TEXT
    with pytest.raises(UserError, match="is empty"):
        results.residual_stream(TranslationRequest(checkpoint, " "))


def test_what_is_shared_is_read_only(checkpoint):
    choice = TranslationRequest(checkpoint, TEXT)
    stages, *_ = measures.stages(choice, "encoder", 0)
    for array in (results.trace(choice).encoder, results.residual_stream(choice).logits, stages.weights):
        with pytest.raises(ValueError):
            array[...] = np.zeros_like(array)
