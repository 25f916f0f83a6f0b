"""What is computed for several who wait is what each would get alone, and a page takes it instead of computing it."""

import pickle
import shutil
from contextlib import ExitStack
from dataclasses import fields, replace
from threading import Thread

import numpy as np
import pytest
from support.server import until
from support.texts import SENTENCES
from support.traces import replayed

from headlight.app import results
from headlight.app.model_queue import BATCH, ModelQueue
from headlight.app.results import CheckpointFiles, TranslationRequest, traces, what_if
from headlight.app.results.what_if import early_layers
from transformer import Beam, Trace, Translator, UserError
from transformer.data.tokenizer import source_ids
from transformer.errors import CheckpointError
from transformer.interpret.residual import MORE_TOKENS, decoder_lens

TEXTS = ["big old tree.", "old tree.", "", "big tree.", "<b>&\x00\ud800", "tree " * 500]


@pytest.fixture
def first(trained_folder, tmp_path, monkeypatch) -> TranslationRequest:
    """A request to a checkpoint of this test alone, and a queue in which nobody waits."""
    shutil.copytree(trained_folder, tmp_path / "own")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    monkeypatch.setattr(results, "queue", ModelQueue())
    monkeypatch.setattr(what_if, "queue", results.queue)
    monkeypatch.setenv("HEADLIGHT_MODEL_PROCESS", "0")
    return TranslationRequest(results.checkpoint("own"), TEXTS[0])


@pytest.fixture
def lined_up(first):
    """What makes requests wait in the line, up to the end of the test, while the caller has the turn."""

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


def same(one: Trace, other: Trace) -> bool:
    """Whether two traces have the same fields, bit by bit, and neither can be written to."""
    pairs = [(getattr(one, field.name), getattr(other, field.name)) for field in fields(Trace)]
    arrays = [pair for pair in pairs if isinstance(pair[0], np.ndarray)]
    return all(
        a.dtype == b.dtype and np.array_equal(a, b) and not (a.flags.writeable or b.flags.writeable) for a, b in arrays
    ) and all(a == b for a, b in pairs if not isinstance(a, np.ndarray))


def test_each_gets_bit_by_bit_the_trace_it_would_get_alone_also_from_another_process(first):
    translator = results.translator(first.checkpoint)
    for text, trace in zip(TEXTS, traces(first.checkpoint, TEXTS), strict=True):
        if translator.can_read(text):
            assert same(pickle.loads(pickle.dumps(trace)), replayed(translator, text))
        else:
            assert trace is None, "the reason is told to who tries alone"
    assert list(traces(first.checkpoint, ["", ""])) == list(early_layers(first.checkpoint, [""] * 2)) == [None, None]


def test_each_sentence_gets_from_a_batch_what_it_gets_alone(shipped):
    readable = [text for text in SENTENCES if shipped.can_read(text)]
    assert len(readable) > 30
    for start in range(0, len(readable), BATCH):
        texts = readable[start : start + BATCH]
        for text, found in zip(texts, shipped.best_ids(texts), strict=True):
            assert found == shipped.hypotheses(text)[0].ids


def test_a_checkpoint_that_was_written_anew_gives_no_answer_under_its_old_name(first):
    with pytest.raises(CheckpointError, match="written anew"):
        next(traces(CheckpointFiles(first.checkpoint.folder, ()), ["tree."]))


def test_the_source_is_encoded_once_where_nobody_else_waits(first):
    encoded = []
    results.translator(first.checkpoint).model.encoder[0].register_forward_hook(lambda *_: encoded.append(True))
    trace = results.trace(first)
    assert len(encoded) == 1 and same(trace, results.recorded(first)[0]) and len(encoded) == 1


def test_a_page_takes_the_translation_that_was_made_with_those_of_others_and_decodes_no_more(
    first, lined_up, monkeypatch
):
    choices = [replace(first, text=text) for text in TEXTS[:4]]
    lined_up(*(results.greedy_request(traces, choice) for choice in choices[1:]))
    decoded, best_ids = [], Translator.best_ids
    monkeypatch.setattr(Translator, "best_ids", lambda own, texts: decoded.append(list(texts)) or best_ids(own, texts))
    for choice in (choices[0], choices[1], choices[3]):
        trace = results.trace(choice)
        again, activations = results.recorded(choice)
        assert (
            trace.source_text == choice.text
            and same(again, trace)
            and activations.logits.shape[1] == len(trace.target_ids)
        )
    assert decoded == [[text for text in TEXTS[:4] if text]]
    with pytest.raises(UserError, match="is empty"):
        results.trace(choices[2])


def test_early_layers_are_decoded_with_those_of_others_and_are_what_each_gets_alone(first, lined_up, monkeypatch):
    choices = [replace(first, text=text) for text in TEXTS[:4]]
    lined_up(*(results.greedy_request(early_layers, choice) for choice in choices[1:]))
    together, lenses = [], what_if.decoder_lenses
    monkeypatch.setattr(
        what_if,
        "decoder_lenses",
        lambda model, sources, more: together.append(len(sources)) or lenses(model, sources, more=more),
    )
    model, tokenizer = results.translator(first.checkpoint).model, results.translator(first.checkpoint).tokenizer
    for choice in (choices[0], choices[1], choices[3]):
        found = what_if._early_translations(choice)
        alone = decoder_lens(model, source_ids(tokenizer, choice.text), more=MORE_TOKENS)
        assert [(one.ids, one.finished) for one in found] == [(one.ids, one.finished) for one in alone]
        for one, other in zip(found, alone, strict=True):
            assert one.log_probability == pytest.approx(other.log_probability, abs=1e-4)
    assert together == [3]


def test_what_is_long_or_not_only_greedy_is_left_to_its_owner(first):
    assert results.greedy_request(traces, first)
    for other in ({"prefix": (5,)}, {"strategy": Beam(2)}, {"text": "😀" * 80}, {"language": "nowhere"}):
        assert results.greedy_request(traces, replace(first, **other)) is None
