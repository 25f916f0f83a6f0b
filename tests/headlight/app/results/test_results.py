"""Cached results: shared by equal requests, read anew after changes of files, equal alone and in batches."""

import os
import shutil
from dataclasses import replace
from threading import Event

import numpy as np
import pytest
from support.traces import replayed

from headlight.app import results
from headlight.app.model_queue import ModelQueue
from headlight.app.results import CheckpointFiles, TranslationRequest, target_ids
from transformer import Beam, Greedy, Sampling, Translator, UserError
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
    assert results.study(first).search().ended[1].ids == traces[-1].target_ids


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


def test_a_batch_has_the_ids_of_each_text_alone(checkpoint):
    translator = results.translator(checkpoint)
    for text, ids in zip(TEXTS, target_ids(checkpoint, TEXTS), strict=True):
        assert ids == (translator.best_ids([text])[0] if translator.can_read(text) else None)
    assert list(target_ids(checkpoint, ["", ""])) == [None, None]
    with pytest.raises(CheckpointError, match="written anew"):
        next(target_ids(CheckpointFiles(checkpoint.folder, ()), ["tree."]))


def test_a_checkpoint_that_is_no_longer_cached_takes_its_studies_along(checkpoint, tmp_path):
    results.translator.clear()  # what other tests have read
    first = TranslationRequest(checkpoint, TEXT)
    study = results.study(first)
    for number in range(4):
        assert results.study(first) is study
        shutil.copytree(tmp_path / "mine", tmp_path / f"other {number}")
        results.translator(results.checkpoint(f"other {number}"))
    assert results.study(first) is not study


def test_a_page_uses_the_translations_of_a_batch(checkpoint, monkeypatch):
    requests = [TranslationRequest(checkpoint, text) for text in TEXTS[:4]]
    alone = {number: replayed(results.translator(checkpoint), TEXTS[number]) for number in READABLE}
    decoded, best_ids = [], Translator.best_ids
    monkeypatch.setattr(
        Translator, "best_ids", lambda self, texts: decoded.append(list(texts)) or best_ids(self, texts)
    )
    with results.queue.turn():
        results.queue.line |= {Event(): results.greedy_request(request) for request in requests[1:]}
        for number in READABLE:
            trace = results.trace(requests[number])
            assert trace.target_ids == alone[number].target_ids and np.array_equal(trace.cross, alone[number].cross)
        assert decoded == [[text for text in TEXTS[:4] if text]]
        with pytest.raises(UserError, match="is empty"):
            results.trace(requests[2])


def test_only_short_greedy_requests_join_a_batch(checkpoint):
    request = TranslationRequest(checkpoint, "x" * 200)
    assert results.greedy_request(request)
    for other in ({"prefix": (5,)}, {"strategy": Beam(2)}, {"text": "😀" * 50 + "x"}, {"language": "nowhere"}):
        assert results.greedy_request(replace(request, **other)) is None
