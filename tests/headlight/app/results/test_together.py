"""Translations that several wait for are made in one batch, and are those that each would get alone."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from headlight.app.results.together import KEPT, MOST, Together
from headlight.app.results.turn_taking import Wish
from support.sentences import SENTENCES

from headlight.app import results
from headlight.app.results import TranslationRequest, model_process, what_if
from transformer import Beam, Translator, UserError
from transformer.interpret.residual import MORE_TOKENS, decoder_lens


@pytest.fixture
def batches() -> list[list[str]]:
    return []


@pytest.fixture
def together(batches) -> Together[str, str | None]:
    def compute(requests):
        batches.append(list(requests))
        return [None if request == "nothing" else request.upper() for request in requests]

    return Together(compute)


def test_a_request_takes_others_along_and_these_are_not_computed_again(together, batches):
    assert together.result("a", ["b", "a", "c", "b"]) == "A"
    assert together.result("c", ["b", "d"]) == "C" and together.result("b") == "B"
    assert batches == [["a", "b", "c"]]
    assert together.result("e", ["c", "d"]) == "E"
    assert batches[1:] == [["e", "d"]]


def test_a_request_is_alone_where_nobody_waits_for_what_is_not_there_yet(together):
    assert together.is_alone("a", []) and together.is_alone("a", ["a"]) and not together.is_alone("a", ["a", "b"])
    together.put("b", "B")
    assert together.is_alone("a", ["a", "b"]) and not together.is_alone("b", [])


def test_what_has_no_result_is_remembered_as_such(together, batches):
    assert together.result("nothing") is None and together.result("nothing") is None
    assert batches == [["nothing"]]


def test_a_batch_holds_no_more_than_it_may_and_the_oldest_results_go(together, batches):
    names = [f"n{number}" for number in range(3 * MOST)]
    together.result("first", names)
    assert batches == [["first", *names[: MOST - 1]]]
    for number in range(KEPT):
        together.result(f"other {number}")
    together.result("first")
    assert batches[-1] == ["first"]


def test_of_results_that_were_put_the_oldest_go_too(together):
    for number in range(KEPT + 1):
        together.put(f"n{number}", "")
    assert together.is_alone("n0", []) and not together.is_alone("n1", [])


def test_each_sentence_gets_from_a_batch_what_it_gets_alone(shipped):
    readable = [text for text in SENTENCES if shipped.can_read(text)]
    assert len(readable) > 30
    for start in range(0, len(readable), MOST):
        texts = readable[start : start + MOST]
        for text, found in zip(texts, shipped.best_ids(texts), strict=True):
            (alone,) = shipped.hypotheses(text)
            assert found == alone.ids


@pytest.fixture
def asked(trained_folder, tmp_path, monkeypatch):
    """A checkpoint of this test alone, and the batches that its translator was asked for."""
    shutil.copytree(trained_folder, tmp_path / "own")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    batches, best = [], Translator.best_ids
    monkeypatch.setattr(Translator, "best_ids", lambda own, texts: batches.append(list(texts)) or best(own, texts))
    return results.checkpoint("own"), batches


def test_the_source_is_encoded_once_where_nobody_else_waits_and_others_get_that_translation(asked):
    checkpoint, batches = asked
    choice, encoded = TranslationRequest(checkpoint, "big old tree."), []
    model = results.translator(checkpoint).model
    model.encoder[0].register_forward_hook(lambda *_: encoded.append(True))
    trace = results.trace(choice)
    assert len(encoded) == 1 and trace.target_ids == results.translator(checkpoint).trace(choice.text).target_ids
    assert results.greedy.result(choice) == trace.target_ids and batches == []


def test_the_translations_of_those_in_the_line_are_made_with_the_first_and_traced_alone(asked, monkeypatch):
    checkpoint, batches = asked
    first = TranslationRequest(checkpoint, "big old tree.")
    waiting = [
        replace(first, text="old tree."),
        replace(first, text=""),
        replace(first, strategy=Beam(2)),
        replace(first, prefix=(5,)),
        replace(first, text="big tree.", checkpoint=replace(checkpoint, written=())),
        replace(first, text="big tree."),
    ]
    monkeypatch.setattr(results.turns, "wishes", lambda: [Wish(choice) for choice in waiting])
    traces = {text: results.trace(replace(first, text=text)) for text in ("big old tree.", "old tree.", "big tree.")}
    assert batches == [["big old tree.", "old tree.", "big tree."]]
    for text, trace in traces.items():
        alone = results.translator(checkpoint).trace(text)
        assert trace.source_text == text and trace.target_ids == alone.target_ids and trace.origin == alone.origin
        for kind in ("encoder", "decoder", "cross"):
            assert np.array_equal(trace.attention(kind), alone.attention(kind))
    with pytest.raises(UserError):
        results.trace(replace(first, text=""))


def test_the_early_layers_of_those_in_the_line_are_decoded_together_and_are_what_each_gets_alone(asked, monkeypatch):
    checkpoint, translated = asked
    first = TranslationRequest(checkpoint, "big old tree.")
    others = [replace(first, text=text) for text in ("old tree.", "", "big tree.")]
    wishes = [*(Wish(choice, early_layers=True) for choice in others), Wish(replace(first, text="old dog."))]
    monkeypatch.setattr(results.turns, "wishes", lambda: wishes)
    batches, lenses = [], model_process.decoder_lenses
    monkeypatch.setattr(
        model_process,
        "decoder_lenses",
        lambda own, sources, more: batches.append(len(sources)) or lenses(own, sources, more=more),
    )
    model = results.translator(checkpoint).model
    for choice in (first, others[0], others[2]):
        found, trace = what_if.early_translations(choice), results.trace(choice)
        alone = decoder_lens(model, trace.source_ids, more=MORE_TOKENS)
        assert [one.ids for one in found] == [one.ids for one in alone]
        assert [one.finished for one in found] == [one.finished for one in alone]
        for one, other in zip(found, alone, strict=True):
            assert one.log_probability == pytest.approx(other.log_probability, abs=1e-4)
    assert batches == [3] and translated == [], "the last layer's are the translations"
