"""Cached results: shared by equal requests, read anew after changes of files, equal alone and in batches."""

import os
import pickle
import shutil
from dataclasses import fields, replace
from threading import Event

import numpy as np
import pytest
from support.traces import replayed

from headlight.app import results
from headlight.app.model_queue import ModelQueue
from headlight.app.results import CheckpointFiles, TranslationRequest, measures, traces
from transformer import Beam, Greedy, Sampling, Trace, Translator, UserError
from transformer.errors import CheckpointError

TEXTS = ["big old tree.", "old tree.", "", "big tree.", "<b>&\x00\ud800", "tree " * 500]
READABLE = (0, 1, 3)
TEXT = TEXTS[0]


@pytest.fixture
def checkpoint(trained_folder, tmp_path, monkeypatch) -> CheckpointFiles:
    """A checkpoint of this test alone, and an empty queue."""
    shutil.copytree(trained_folder, tmp_path / "mine")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    monkeypatch.setattr(results, "queue", ModelQueue())
    monkeypatch.setenv("HEADLIGHT_MODEL_PROCESS", "0")
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
    copied = results.CheckpointFiles(tmp_path / "elsewhere" / "mine", checkpoint.written)
    assert copied != checkpoint, "a copy in another folder is another checkpoint"


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


def is_same(one: Trace, other: Trace) -> bool:
    """Return whether two traces have the same fields, bit by bit, and are read-only."""
    pairs = [(getattr(one, field.name), getattr(other, field.name)) for field in fields(Trace)]
    arrays = [pair for pair in pairs if isinstance(pair[0], np.ndarray)]
    return all(
        a.dtype == b.dtype and np.array_equal(a, b) and not (a.flags.writeable or b.flags.writeable) for a, b in arrays
    ) and all(a == b for a, b in pairs if not isinstance(a, np.ndarray))


def test_a_batch_has_bit_by_bit_the_trace_of_each_text_alone_also_from_another_process(checkpoint):
    translator = results.translator(checkpoint)
    for text, trace in zip(TEXTS, traces(checkpoint, TEXTS), strict=True):
        if translator.can_read(text):
            assert is_same(pickle.loads(pickle.dumps(trace)), replayed(translator, text))
        else:
            assert trace is None
    assert list(traces(checkpoint, ["", ""])) == [None, None]
    with pytest.raises(CheckpointError, match="written anew"):
        next(traces(CheckpointFiles(checkpoint.folder, ()), ["tree."]))


def test_the_source_is_encoded_once_for_trace_and_record(checkpoint):
    request, encoded = TranslationRequest(checkpoint, TEXT), []
    results.translator(checkpoint).model.encoder[0].register_forward_hook(lambda *_: encoded.append(True))
    trace = results.trace(request)
    assert is_same(trace, results.recorded(request)[0]) and len(encoded) == 1


def test_a_page_uses_the_translations_of_a_batch(checkpoint, monkeypatch):
    requests = [TranslationRequest(checkpoint, text) for text in TEXTS[:4]]
    decoded, best_ids = [], Translator.best_ids
    monkeypatch.setattr(
        Translator, "best_ids", lambda self, texts: decoded.append(list(texts)) or best_ids(self, texts)
    )
    with results.queue.turn():
        results.queue.line |= {Event(): results.greedy_request(request) for request in requests[1:]}
        for number in READABLE:
            trace = results.trace(requests[number])
            again, activations = results.recorded(requests[number])
            assert trace.source_text == TEXTS[number] and is_same(again, trace)
            assert activations.logits.shape[1] == len(trace.target_ids)
        assert decoded == [[text for text in TEXTS[:4] if text]]
        with pytest.raises(UserError, match="is empty"):
            results.trace(requests[2])


def test_only_short_greedy_requests_join_a_batch(checkpoint):
    request = TranslationRequest(checkpoint, "x" * 200)
    assert results.greedy_request(request)
    for other in ({"prefix": (5,)}, {"strategy": Beam(2)}, {"text": "😀" * 50 + "x"}, {"language": "nowhere"}):
        assert results.greedy_request(replace(request, **other)) is None
