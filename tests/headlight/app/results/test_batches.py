"""Results that are computed in batches: equal to those of single runs, and used by the pages."""

import pickle
import shutil
from contextlib import ExitStack
from dataclasses import fields, replace
from threading import Thread

import numpy as np
import pytest
from support.server import until
from support.traces import replayed

from headlight.app import results
from headlight.app.model_queue import ModelQueue
from headlight.app.results import CheckpointFiles, TranslationRequest, traces
from transformer import Beam, Trace, Translator, UserError
from transformer.errors import CheckpointError

TEXTS = ["big old tree.", "old tree.", "", "big tree.", "<b>&\x00\ud800", "tree " * 500]
READABLE = (0, 1, 3)


@pytest.fixture
def first(trained_folder, tmp_path, monkeypatch) -> TranslationRequest:
    """A request to a checkpoint of this test alone, and an empty queue."""
    shutil.copytree(trained_folder, tmp_path / "mine")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    monkeypatch.setattr(results, "queue", ModelQueue())
    monkeypatch.setenv("HEADLIGHT_MODEL_PROCESS", "0")
    return TranslationRequest(results.checkpoint("mine"), TEXTS[0])


@pytest.fixture
def line_up(first):
    """Return a function that puts requests into the line for the rest of the test, in which the caller has the turn."""

    def wait(request) -> None:
        with results.queue.turn(request):
            pass

    def line_up(*requests) -> None:
        for number, request in enumerate(requests, 1):
            Thread(target=wait, args=(request,), daemon=True).start()
            until(lambda number=number: len(results.queue.line) == number)

    with ExitStack() as turns:
        turns.enter_context(results.queue.turn())
        yield line_up


def is_same(one: Trace, other: Trace) -> bool:
    """Return whether two traces have the same fields, bit by bit, and are read-only."""
    pairs = [(getattr(one, field.name), getattr(other, field.name)) for field in fields(Trace)]
    arrays = [pair for pair in pairs if isinstance(pair[0], np.ndarray)]
    return all(
        a.dtype == b.dtype and np.array_equal(a, b) and not (a.flags.writeable or b.flags.writeable) for a, b in arrays
    ) and all(a == b for a, b in pairs if not isinstance(a, np.ndarray))


def test_a_batch_has_bit_by_bit_the_trace_of_each_text_alone_also_from_another_process(first):
    translator = results.translator(first.checkpoint)
    for text, trace in zip(TEXTS, traces(first.checkpoint, TEXTS), strict=True):
        if translator.can_read(text):
            assert is_same(pickle.loads(pickle.dumps(trace)), replayed(translator, text))
        else:
            assert trace is None
    assert list(traces(first.checkpoint, ["", ""])) == [None, None]
    with pytest.raises(CheckpointError, match="written anew"):
        next(traces(CheckpointFiles(first.checkpoint.folder, ()), ["tree."]))


def test_the_source_is_encoded_once_for_trace_and_record(first):
    encoded = []
    results.translator(first.checkpoint).model.encoder[0].register_forward_hook(lambda *_: encoded.append(True))
    trace = results.trace(first)
    assert is_same(trace, results.recorded(first)[0]) and len(encoded) == 1


def test_a_page_uses_the_translations_of_a_batch(first, line_up, monkeypatch):
    requests = [replace(first, text=text) for text in TEXTS[:4]]
    line_up(*(results.greedy_request(request) for request in requests[1:]))
    decoded, best_ids = [], Translator.best_ids
    monkeypatch.setattr(
        Translator, "best_ids", lambda self, texts: decoded.append(list(texts)) or best_ids(self, texts)
    )
    for number in READABLE:
        trace = results.trace(requests[number])
        again, activations = results.recorded(requests[number])
        assert trace.source_text == TEXTS[number] and is_same(again, trace)
        assert activations.logits.shape[1] == len(trace.target_ids)
    assert decoded == [[text for text in TEXTS[:4] if text]]
    with pytest.raises(UserError, match="is empty"):
        results.trace(requests[2])


def test_only_short_greedy_requests_join_a_batch(first):
    assert results.greedy_request(first)
    assert results.greedy_request(replace(first, text="x" * 200))
    for other in ({"prefix": (5,)}, {"strategy": Beam(2)}, {"text": "😀" * 50 + "x"}, {"language": "nowhere"}):
        assert results.greedy_request(replace(first, **other)) is None
