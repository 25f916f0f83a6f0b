"""The cached functions: computed once for all who ask for the same, anew when files change, and errors are not kept."""

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

import session
from session import Choice, blocks
from transformer import Beam, Greedy, Sampling, UserError

TEXT = "big old tree."


@pytest.fixture
def checkpoint(trained_folder, tmp_path, monkeypatch) -> session.CheckpointFiles:
    """A checkpoint of this test alone."""
    shutil.copytree(trained_folder, tmp_path / "own")
    monkeypatch.setattr(session, "CHECKPOINTS", tmp_path)
    return session.checkpoint("own")


def test_who_asks_for_the_same_gets_the_same(checkpoint):
    assert session.trace(Choice(checkpoint, TEXT, Greedy())) is session.trace(Choice(checkpoint, TEXT, Greedy()))
    assert session.checkpoint("own") == checkpoint and checkpoint.name == "own"


def test_every_part_of_a_request_tells_two_apart(checkpoint):
    first = Choice(checkpoint, TEXT, Beam(2, 0.6))
    others = [
        replace(first, text="big tree."),
        replace(first, strategy=Greedy()),
        replace(first, strategy=Sampling(seed=2)),
        replace(first, strategy=Beam(3, 0.6)),
        replace(first, strategy=Beam(2, 0.9)),
        replace(first, prefix=session.trace(first).next_ids[:1]),
        replace(first, rank=2),
    ]
    traces = [session.trace(choice) for choice in (first, *others)]
    assert len({id(trace) for trace in traces}) == len(traces)
    assert session.trace(replace(first, rank=99)).next_ids == session.trace(replace(first, rank=2)).next_ids


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.model", "training.json"])
def test_a_checkpoint_that_is_written_anew_is_read_anew(checkpoint, file, tmp_path):
    before = session.translator(checkpoint)
    written = (tmp_path / "own" / file).stat().st_mtime_ns + 1_000_000
    os.utime(tmp_path / "own" / file, ns=(written, written))
    assert session.checkpoint("own") != checkpoint
    assert session.translator(session.checkpoint("own")) is not before
    assert session.translator(checkpoint) is before


def test_another_folder_of_the_same_name_is_another_checkpoint(checkpoint, trained_folder, tmp_path, monkeypatch):
    shutil.copytree(trained_folder, tmp_path / "elsewhere" / "own")
    monkeypatch.setattr(session, "CHECKPOINTS", tmp_path / "elsewhere")
    assert session.checkpoint("own").written == checkpoint.written, "a copy keeps the times"
    assert session.translator(session.checkpoint("own")) is not session.translator(checkpoint)


def test_an_error_is_not_kept(checkpoint, tmp_path):
    weights = tmp_path / "own" / "model.safetensors"
    whole = weights.read_bytes()
    times = weights.stat().st_atime_ns, weights.stat().st_mtime_ns
    weights.write_bytes(whole[:100])
    os.utime(weights, ns=times)
    with pytest.raises(UserError):
        session.translator(checkpoint)
    with pytest.raises(UserError):
        session.trace(Choice(checkpoint, TEXT))
    weights.write_bytes(whole)
    os.utime(weights, ns=times)
    assert session.trace(Choice(checkpoint, TEXT)).source_text == TEXT
    with pytest.raises(UserError, match="is empty"):
        session.residual_stream(Choice(checkpoint, " "))


def test_what_is_shared_is_read_only(checkpoint):
    choice = Choice(checkpoint, TEXT)
    stages, *_ = blocks.stages(choice, "encoder", 0)
    for array in (session.trace(choice).encoder, session.residual_stream(choice).logits, stages.weights):
        with pytest.raises(ValueError):
            array[...] = np.zeros_like(array)
