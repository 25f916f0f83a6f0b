"""Translator: the verbs that pages, notebooks and the command line use, in every type of weights."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.models import zero_ablated
from support.recorded import attribute_logit, leave_one_out, record_residual_stream
from support.tiny import make_pairs
from support.tolerance import near
from support.traces import CHECKPOINTS

import headlight as hl
from transformer import Beam, Decoding, Greedy, Sampling, Translator
from transformer.errors import CheckpointError, DeviceError, EmptyTextError, TooLongError, UserError
from transformer.interpret.attribution import gradient_times_input
from transformer.interpret.residual import logit_lens
from transformer.interpret.rollout import alti
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.importance import head_importance
from transformer.interpret.what_if.intervention import Zero
from transformer.interpret.what_if.patching import Question, patching_map
from transformer.model.device import read_dtype


@pytest.fixture(scope="module")
def trained(trained_folder) -> Translator:
    return Translator.load(trained_folder, "cpu")


@pytest.mark.parametrize("beam", [1, 4])
def test_a_batch_is_translated_in_order_like_each_text_alone(trained, beam):
    pairs, done = make_pairs(60, 5), []
    sources = [source for source, _ in pairs]
    translations = trained.translate(sources, beam=beam, progress=done.append)
    assert translations[:12] == [trained.translate([text], beam=beam)[0] for text in sources[:12]]
    assert sum(ours == target for ours, (_, target) in zip(translations, pairs, strict=True)) >= 36
    assert done == sorted(done) and done[-1] == 60
    scores = [one.score for one in trained.hypotheses("red dog.", beam=beam)]
    assert len(scores) == beam and scores == sorted(scores, reverse=True)


def test_the_longest_text_that_fits_is_translated(trained):
    limit = trained.model.config.max_length - 1
    text = " ".join(["dog"] * limit)
    assert len(trained.pieces(text)) == limit
    assert trained.trace(text).encoder.shape[-1] == limit + 1
    with pytest.raises(TooLongError, match=f"has {limit + 1} tokens; the model reads at most {limit}"):
        trained.trace(text + " dog")
    for longer in (text + " dog", "x" * 1_000_000, " " * 1_000_000):
        for act in (trained.trace, trained.pieces, lambda text: trained.trace("red", target=text)):
            with pytest.raises(UserError) as caught:
                act(longer)
            assert len(str(caught.value)) < 120
        assert not trained.can_read(longer) and not trained.can_be_given(longer)


def test_a_trace_of_the_decoded_target_is_the_trace_of_the_decoding(trained):
    for beam in (1, 4):
        decoded = trained.trace("small red cat.", beam=beam)
        assert decoded.target_text == trained.translate(["small red cat."], beam=beam)[0]
        assert (decoded.origin, decoded.finished) == ("decoded", True)
        replayed = trained.trace("small red cat.", target=decoded.target_text)
        assert (replayed.target_ids, replayed.origin) == (decoded.target_ids, "target")
        assert replayed.cross == near(decoded.cross)
    by_ids = trained.trace("red dog", target=[8, 9])
    assert (by_ids.target_ids, by_ids.origin, by_ids.finished) == ((8, 9), "target", False)
    assert trained.record("red dog", decoded=by_ids.target_ids)[0].origin == "decoded"
    for one in trained.hypotheses("red dog", Beam(size=3)):
        trace = trained.trace("red dog", target=one)
        assert (trace.target_ids, trace.origin) == (one.ids, "decoded")
        assert float(np.log(trace.target_probabilities).sum()) == near(one.log_probability)


def test_a_translation_begins_with_its_prefix_and_has_room_for_a_token_more(trained):
    ids = trained.tokenizer.encode("Wagen")
    for prefix, strategy in (("Wagen", Greedy()), (ids, Beam(size=3))):
        trace = trained.trace("small red cat.", prefix=prefix, strategy=strategy)
        assert trace.origin == "prefix" and trace.target_ids[: len(ids)] == tuple(ids)
    (token,) = trained.tokenizer.encode("Hund")
    assert len(trained.trace("red dog.", prefix=[token] * 23).target_ids) == 24
    with pytest.raises(TooLongError, match="prefix"):
        trained.trace("red dog.", prefix=[token] * 24)
    end = trained.tokenizer.end_id
    assert trained.may_begin_with((8, 9, end))
    for prefix in ((), (end, 8), (trained.tokenizer.pad_id,), (8, trained.tokenizer.begin_id), (-1,), (10_000,)):
        assert not trained.may_begin_with(prefix)


@settings(deadline=None, derandomize=True, database=None, max_examples=30)
@given(
    text=st.text(max_size=12)
    | st.sampled_from(("red \ud800 dog", "\udfff", "red\0dog", "red</s>dog", "a\rb\nc", "ﬁne ½"))
)
def test_any_text_is_traced_and_translated_alike_or_called_empty(trained, text):
    if not trained.can_read(text):
        for act in (trained.trace, trained.pieces, trained.hypotheses, lambda text: trained.translate(["red", text])):
            with pytest.raises(EmptyTextError, match="The text is empty: please write a sentence."):
                act(text)
        with pytest.raises(EmptyTextError, match="target is empty"):
            trained.trace("red dog.", target=text)
        return
    trace = trained.trace(text)
    assert trained.translate([text]) == [trace.target_text]
    assert trained.trace("red dog.", target=text).origin == "target"


def test_a_decoding_is_one_value_for_several_options(translator):
    decoding = Decoding(Beam(3), prefix=[8, 9], interventions="zero:cross.1.2")
    assert decoding == Decoding.read(None, beam=3, prefix=(8, 9), interventions=[Zero("cross", 1, 2)])
    assert hash(decoding) == hash(Decoding.read(decoding)) and Decoding.read(decoding, prefix=()).prefix == ()
    assert Decoding.read(Beam(3)) == Decoding(Beam(3)) != Decoding.read(None, beam=1)
    hypotheses = translator.hypotheses("red dog", decoding)
    assert [one.ids[:2] for one in hypotheses] == [(8, 9)] * 3
    assert list(translator.beam_search("red dog", decoding).ended[:3]) == hypotheses
    (best,) = translator.best_ids(["red dog"], decoding)
    assert best == hypotheses[0].ids == translator.trace("red dog", decoding).target_ids
    assert translator.translate(["red dog"], decoding) == [translator.tokenizer.decode(best)]


def test_bad_arguments_are_refused(translator, trained_folder, tmp_path):
    for options, message in (
        ({"target": "rot", "prefix": "rot"}, "not both"),
        ({"beams": 3}, "no option is called beams; there are beam, strategy, prefix"),
        *(({"target": ids}, "whole numbers") for ids in ((8.7,), ("8",), (None,))),
        *(({"prefix": ids}, "ids must be in 0 to") for ids in ((-1,), (10_000,))),
    ):
        with pytest.raises(ValueError, match=message):
            translator.trace("red dog", **options)
    with pytest.raises(ValueError, match="a Beam, got Greedy"):
        translator.beam_search("red dog", Greedy())
    with pytest.raises(ValueError, match="strategy must be Greedy, Sampling or Beam, got 3"):
        translator.translate(["red dog"], 3)
    with pytest.raises(CheckpointError, match="no checkpoint folder"):
        Translator.load(tmp_path / "nowhere")
    with pytest.raises(DeviceError):
        Translator.load(trained_folder, "abacus")


TEXTS = ["big red dog.", "  ", "cat.", "dog " * 40, "old bird."]


@pytest.mark.parametrize("verb", ["translate", "trace_many", "best_ids"])
def test_the_first_text_that_cannot_be_read_is_named_by_its_index(translator, verb):
    read = getattr(translator, verb)
    with pytest.raises(EmptyTextError, match=r"^texts\[1\]: The text is empty"):
        read(TEXTS)
    with pytest.raises(TooLongError, match=r"^texts\[1\]: The text has \d+ tokens"):
        read(TEXTS[2:])
    with pytest.raises(UserError, match="^The model has no target language 'de'"):
        read(["cat."], target_language="de")
    with pytest.raises(TooLongError, match=r"^texts\[0\]: The prefix has"):
        read(["cat."], prefix=[5] * 20)


@pytest.mark.parametrize("options", [{}, {"beam": 2}], ids=str)
def test_skipped_texts_leave_none_and_a_line_in_the_log(translator, caplog, options):
    done = []
    with caplog.at_level(logging.WARNING):
        translations = translator.translate(TEXTS, skip=True, progress=done.append, **options)
    one, two, three = translator.translate(TEXTS[::2], **options)
    assert translations == [one, None, two, None, three] and done[-1] == len(TEXTS)
    (message,) = caplog.messages
    assert message.startswith(
        "skipped 2 of 5 texts: texts[1]: The text is empty: please write a sentence. texts[3]: The"
    )
    traces = translator.trace_many(TEXTS, skip=True, **options)
    assert [trace and trace.target_text for trace in traces] == translations
    traces = translator.trace_many(["cat.", "dog."], targets=["", "Hund."], skip=True)
    assert traces[0] is None and traces[1].target_text == "Hund."
    assert translator.translate(["", "  "], skip=True) == [None, None] and translator.translate([], skip=True) == []


@pytest.mark.parametrize("verb", ["translate", "trace_many"])
def test_other_types_than_lists_of_texts_are_refused_skipped_or_not(translator, verb):
    for texts, message in (
        (["cat.", None], r"^texts\[1\]: a text expected, got None$"),
        (pandas.DataFrame({"source": ["cat."]}), "^a list of texts expected, got DataFrame$"),
        ("cat.", "a list of texts expected, got one text"),
    ):
        for skip in (False, True):
            with pytest.raises((TypeError, ValueError), match=message):
                getattr(translator, verb)(texts, skip=skip)
    for other in ("trace", "record", "hypotheses", "pieces", "can_read"):
        with pytest.raises(TypeError, match="expected, got"):
            getattr(translator, other)(b"cat.")
    texts = ["cat.", "big dog."]
    for same in (pandas.Series(texts), np.array(texts), iter(texts)):
        assert translator.translate(same) == translator.translate(texts)


def test_pairs_that_do_not_fit_are_left_out_of_a_measurement_and_other_types_refused(translator, caplog):
    pairs = [("cat.", "Katze."), ("", "Hund."), ("dog " * 40, "Hund."), ("big dog.", "großer Hund.")]
    with caplog.at_level(logging.WARNING):
        importance = translator.head_importance(pairs)
    assert "left out 2 lines: 1 with a side that has no token, 1 longer than 20 tokens" in caplog.text
    np.testing.assert_array_equal(importance.cross, translator.head_importance([pairs[0], pairs[3]]).cross)
    for others, message in (
        (pandas.DataFrame({"source": ["cat."], "target": ["Katze."]}), "pairs .* expected, got DataFrame"),
        ("cat.", "expected, got str"),
        ([("cat.", "Katze."), ("dog.", None)], r"^pairs\[1\]: two texts expected"),
    ):
        for measure in (translator.head_importance, translator.measure_means):
            with pytest.raises(TypeError, match=message):
                measure(others)


def test_many_threads_share_one_translator(trained):
    """Each thread has the results of a run alone, while other threads silence heads."""
    texts, start = ["red dog.", "small blue cat.", "old house.", "big green tree car."], threading.Barrier(8)

    def trace(text: str, ablated: bool) -> Trace:
        with zero_ablated(trained.model, [("encoder", 1, 0), ("cross", 0, 2)] if ablated else []):
            return trained.trace(text)

    expected = {(text, ablated): trace(text, ablated) for text in texts for ablated in (False, True)}
    assert all(
        expected[text, False].target_probabilities[0] != expected[text, True].target_probabilities[0] for text in texts
    )

    def visit(number: int) -> None:
        start.wait()
        for turn in range(2):
            key = texts[number % 4], bool((turn + number) % 2)
            for name in ("target_ids", "cross", "target_probabilities"):
                np.testing.assert_array_equal(getattr(trace(*key), name), getattr(expected[key], name))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(visit, range(8)))


SENTENCE = "I love my teacher."
# Tolerance of a weight or a probability.
NEAR = {"float64": 2e-5, "float32": 0, "bfloat16": 0.12, "float16": 0.02}
ARRAYS = ("encoder", "decoder", "cross", "target_probabilities", "candidate_probabilities")


@pytest.fixture(scope="module", params=["float64", "bfloat16", "float16"])
def other(request) -> Translator:
    return hl.load(str(CHECKPOINTS / "en-de"), "cpu", dtype=request.param)


def name_of(translator: Translator) -> str:
    return str(translator.model.dtype).removeprefix("torch.")


def test_it_translates_and_traces_near_what_float32_does(shipped, other):
    decoding = {"beam": 3, "prefix": "Ich"}
    plain = shipped.trace(SENTENCE, **decoding)
    translation = other.translate([SENTENCE, "A dog."], **decoding)[0]
    assert translation.startswith("Ich") and (translation == plain.target_text or other.model.dtype != torch.float64)
    trace, plain = (each.trace(SENTENCE, target=plain.target_ids) for each in (other, shipped))
    for name in ARRAYS:
        array = getattr(trace, name)
        assert array.dtype == (np.float64 if name_of(other) == "float64" else np.float32)
        np.testing.assert_allclose(array, getattr(plain, name), atol=NEAR[name_of(other)])
        if name in ARRAYS[:3]:
            assert array.sum(axis=-1) == near(1)
    assert trace.log_probability == pytest.approx(plain.log_probability, abs=10 * NEAR[name_of(other)])
    hypothesis = other.hypotheses(SENTENCE, strategy=Sampling(0.8, seed=3))[0]
    replayed = other.trace(SENTENCE, target=hypothesis).log_probability
    assert replayed == pytest.approx(hypothesis.log_probability, abs=0.3)
    assert not np.array_equal(trace.cross, plain.cross)


MEASURES = {
    "gradient": lambda model, source, fed: gradient_times_input(model, source, fed, 9),
    "left out": lambda model, source, fed: leave_one_out(model, source, fed, 9),
    "logit": lambda model, source, fed: attribute_logit(model, source, fed, 9),
    "stream": record_residual_stream,
    "lens": lambda model, source, fed: logit_lens(model, record_residual_stream(model, source, fed), fed[1:] + fed[:1]),
    "ALTI+": alti,
    "heads": lambda model, source, fed: head_importance(model, source, fed[1:]),
    "patching": lambda model, source, fed: patching_map(
        model, Question(source, (*source[:2], source[3], source[2], *source[4:]), fed, (9, 40)), "residual", "encoder"
    ),
}


def test_every_measure_is_taken_in_it(shipped, other):
    trace = shipped.trace(SENTENCE)
    for name, measure in MEASURES.items():
        plain, frame = (
            measure(each.model, trace.source_ids, trace.decoder_input_ids).to_frame() for each in (shipped, other)
        )
        assert list(frame.columns) == list(plain.columns) and len(frame) == len(plain)
        values = plain.select_dtypes("floating").columns
        assert len(values) and (np.isfinite(frame[values]) == np.isfinite(plain[values])).all().all()
        if name_of(other) == "float64":
            np.testing.assert_allclose(frame[values], plain[values], atol=2e-3, rtol=2e-3, err_msg=name)


def test_float32_is_the_default(shipped):
    assert shipped.model.dtype == torch.float32
    for dtype in ("float32", torch.float32, None):
        assert read_dtype(dtype) == torch.float32
    assert read_dtype(torch.bfloat16) == read_dtype("bfloat16") == torch.bfloat16
    for dtype in ("int8", "half", torch.int64, "torch.foo", 3):
        with pytest.raises(ValueError, match="^dtype must be one of float32, float64, bfloat16, float16, got"):
            hl.load("there is no such folder", "cpu", dtype)
