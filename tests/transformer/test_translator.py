"""Translator: the verbs that pages, notebooks and the command line use."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support.models import zero_ablated
from support.tiny import make_pairs
from support.tolerance import near

from transformer import Beam, Decoding, Greedy, Sampling, Translator, UserError
from transformer.errors import CheckpointError, DeviceError, EmptyTextError, TooLongError
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.intervention import Zero

HOSTILE = [
    "\u200b\u200d",
    "🙂👩‍👩‍👧",
    "<script>alert(1)</script>"[:12],
    "日本語",
    "red \ud800 dog",
    "\udfff",
    "red\0dog",
    "\0",
    "\u202ered",
    "ﬁne ½",
    "á",
    "red</s>dog",
    "a\rb\nc",
    "%s {} \\",
]


@pytest.fixture(scope="module")
def trained(trained_folder) -> Translator:
    return Translator.load(trained_folder, "cpu")


@pytest.mark.parametrize("beam", [1, 4])
def test_a_trained_model_translates_and_keeps_the_order(trained, beam):
    pairs = make_pairs(70, 5)
    found = trained.translate([source for source, _ in pairs], beam=beam)
    right = sum(ours == target for ours, (_, target) in zip(found, pairs, strict=True))
    assert right >= 42, f"{right} of 70 right"


def test_a_batch_translates_like_each_text_alone(trained):
    texts = [source for source, _ in make_pairs(12, 6)]
    for beam in (1, 3):
        assert trained.translate(texts, beam=beam) == [trained.translate([text], beam=beam)[0] for text in texts]


def test_no_text_gives_no_translation(trained):
    assert trained.translate([]) == []


def test_progress_counts_up_to_all_texts(trained):
    seen = []
    trained.translate(["red dog."] * 150, progress=seen.append)
    assert seen == sorted(seen) and len(seen) > 1 and seen[-1] == 150


def test_a_trace_shows_the_translation_that_translate_gives(trained):
    for beam in (1, 4):
        trace = trained.trace("small red cat.", beam=beam)
        assert trace.target_text == trained.translate(["small red cat."], beam=beam)[0]
        assert (trace.origin, trace.finished) == ("decoded", True)


def test_a_trace_of_a_given_target_replays_that_target(trained):
    trace = trained.trace("small red cat.", target="Haus Haus.")
    assert (trace.target_text, trace.origin, trace.finished) == ("Haus Haus.", "target", True)


def test_a_trace_with_a_forced_prefix_begins_with_it(trained):
    trace = trained.trace("small red cat.", prefix="Wagen")
    assert trace.origin == "prefix" and trace.target_text.startswith("Wagen")
    ids = trained.tokenizer.encode("Wagen")
    again = trained.trace("small red cat.", prefix=ids, strategy=Beam(size=3))
    assert again.target_ids[: len(ids)] == tuple(ids)


def test_replaying_the_decoded_target_gives_the_same_trace(trained):
    """A decoded trace and the trace of its own text as a given target are the same maps."""
    decoded = trained.trace("old house.")
    given = trained.trace("old house.", target=decoded.target_text)
    assert given.target_ids == decoded.target_ids
    assert given.cross == near(decoded.cross)


def test_a_target_and_a_prefix_at_once_are_refused(trained):
    with pytest.raises(ValueError, match="not both"):
        trained.trace("red dog.", target="rot", prefix="rot")


def test_hypotheses_are_best_first_and_one_for_greedy(trained):
    assert len(trained.hypotheses("red dog.")) == len(trained.hypotheses("red dog.", Sampling())) == 1
    found = trained.hypotheses("red dog.", Beam(size=4))
    assert len(found) == 4
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\ufeff", "\u200b"])
def test_a_text_without_anything_to_read_is_called_empty(trained, text):
    for act in (trained.trace, trained.pieces, trained.hypotheses, lambda text: trained.translate(["red", text])):
        with pytest.raises(EmptyTextError, match="The text is empty: please write a sentence."):
            act(text)


def test_an_empty_target_is_called_empty(trained):
    with pytest.raises(EmptyTextError, match="target is empty"):
        trained.trace("red dog.", target=" ")


@pytest.mark.parametrize("text", HOSTILE)
def test_any_characters_can_be_translated_and_traced(trained, text, tmp_path):
    trace = trained.trace(text)
    assert trained.translate([text]) == [trace.target_text]
    assert all(0 <= piece.begin <= piece.end <= len(text) for piece in trace.source_pieces)
    assert trained.trace("red dog.", target=text).origin == "target"
    trace.save(tmp_path / "trace.npz")
    with np.load(tmp_path / "trace.npz", allow_pickle=False) as stored:
        assert stored["encoder"].shape == trace.encoder.shape


@pytest.mark.parametrize(
    "text", ["red " * 30, "x" * 1_000_000, "red dog. " * 120_000, "🙂 " * 500_000, " " * 1_000_000]
)
def test_too_long_a_text_is_refused_in_one_sentence(trained, text):
    for act in (trained.trace, trained.pieces, lambda text: trained.trace("red", target=text)):
        with pytest.raises(UserError) as caught:
            act(text)
        assert len(str(caught.value)) < 120 and "\n" not in str(caught.value)


def test_the_longest_text_that_fits_is_translated(trained):
    limit = trained.model.config.max_length - 1
    text = " ".join(["dog"] * limit)
    assert len(trained.pieces(text)) == limit
    assert trained.trace(text).encoder.shape[-1] == limit + 1
    with pytest.raises(TooLongError, match=f"has {limit + 1} tokens; the model reads at most {limit}"):
        trained.trace(text + " dog")


@pytest.mark.parametrize("length", [23, 24, 500])
def test_a_prefix_without_room_after_it_is_refused(trained, length):
    prefix = trained.tokenizer.encode("Hund") * length
    if length < 24:
        assert len(trained.trace("red dog.", prefix=prefix).target_ids) == 24
    else:
        with pytest.raises(TooLongError, match="prefix"):
            trained.trace("red dog.", prefix=prefix)


def test_unknown_characters_are_named_once_and_in_order(trained):
    assert trained.unknown_characters("red 🙂 dog 日本 🙂.") == ["🙂", "日本"]
    assert trained.unknown_characters("red dog.") == [] == trained.unknown_characters("")
    assert "" not in trained.unknown_characters("ﬁne")


def test_a_missing_checkpoint_and_a_wrong_device_are_friendly_errors(trained_folder, tmp_path):
    with pytest.raises(CheckpointError, match="no checkpoint folder"):
        Translator.load(tmp_path / "nowhere")
    with pytest.raises(DeviceError):
        Translator.load(trained_folder, "abacus")


def test_many_visitors_share_one_translator(trained):
    """Tracing, translating and silencing at the same time: everyone gets what they would get alone."""
    texts = ["red dog.", "small blue cat.", "old house.", "big green tree car."]
    heads = [("encoder", 1, 0), ("cross", 0, 2)]

    def trace_ablated(text: str) -> Trace:
        with zero_ablated(trained.model, heads):
            return trained.trace(text)

    plain, ablated = [trained.trace(text) for text in texts], [trace_ablated(text) for text in texts]
    start = threading.Barrier(8)

    def visit(number: int) -> None:
        which = number % 4
        start.wait()
        for turn in range(6):
            if (turn + number) % 2:
                found, expected = trace_ablated(texts[which]), ablated[which]
            else:
                found, expected = trained.trace(texts[which]), plain[which]
                assert trained.translate([texts[which]]) == [expected.target_text]
            assert found.target_ids == expected.target_ids
            np.testing.assert_array_equal(found.cross, expected.cross)
            np.testing.assert_array_equal(found.target_probabilities, expected.target_probabilities)

    assert all(
        (one.target_probabilities[0] != other.target_probabilities[0])
        for one, other in zip(plain, ablated, strict=True)
    )
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(visit, range(8)))


def test_a_hypothesis_is_traced_as_it_was_found(translator):
    found = translator.hypotheses("red dog", Beam(size=3))
    for one in found:
        trace = translator.trace("red dog", target=one)
        assert trace.target_ids == one.ids
        assert trace.origin == "decoded"
        assert float(np.log(trace.target_probabilities).sum()) == near(one.log_probability)


def test_a_decoding_says_in_one_value_what_keywords_say_one_by_one(translator):
    asked = Decoding(Beam(3), prefix=[8, 9], interventions="zero:cross.1.2")
    assert asked == Decoding.read(None, beam=3, prefix=(8, 9), interventions=[Zero("cross", 1, 2)])
    assert hash(asked) == hash(Decoding.read(asked)) and Decoding.read(asked, prefix=()).prefix == ()
    assert Decoding.read(Beam(3)) == Decoding(Beam(3)) != Decoding.read(None, beam=1)
    found = translator.hypotheses("red dog", asked)
    assert [one.ids[:2] for one in found] == [(8, 9)] * 3
    assert list(translator.beam_search("red dog", asked).ended[:3]) == found
    assert translator.best_ids(["red dog"], asked) == [found[0].ids] == [translator.trace("red dog", asked).target_ids]
    assert translator.translate(["red dog"], asked) == [translator.tokenizer.decode(found[0].ids)]
    with pytest.raises(ValueError, match="a Beam, got Greedy"):
        translator.beam_search("red dog", Greedy())
    with pytest.raises(ValueError, match="strategy must be Greedy, Sampling or Beam, got 3"):
        translator.translate(["red dog"], 3)


def test_ids_that_were_given_are_a_target_and_not_the_models_own_translation(translator):
    trace = translator.trace("red dog", target=[8, 9])
    assert (trace.origin, trace.finished) == ("target", False)
    assert translator.record("red dog", decoded=trace.target_ids)[0].origin == "decoded"


def test_a_text_in_place_of_a_list_of_texts_is_not_read_letter_by_letter(translator):
    for ask in (translator.translate, translator.trace_many):
        with pytest.raises(ValueError, match="a list of texts"):
            ask("red dog")


@pytest.mark.parametrize("ids", [(8.7,), ("8",), (None,)])
def test_ids_that_are_no_whole_numbers_are_refused(translator, ids):
    with pytest.raises(ValueError, match="whole numbers"):
        translator.trace("red dog", target=ids)


@pytest.mark.parametrize("ids", [(-1,), (10_000,)])
def test_ids_that_are_not_the_models_are_refused(translator, ids):
    with pytest.raises(ValueError, match="ids must be in 0 to"):
        translator.trace("red dog", prefix=ids)
    assert not translator.may_begin_with(ids)


def test_only_pieces_may_begin_a_translation_and_the_end_only_last(translator):
    tokenizer = translator.tokenizer
    assert translator.may_begin_with((8, 9, tokenizer.end_id))
    for prefix in ((), (tokenizer.end_id, 8), (tokenizer.pad_id,), (8, tokenizer.begin_id), (8,) * 500):
        assert not translator.may_begin_with(prefix)


def test_a_target_can_be_given_exactly_where_a_trace_of_it_is_no_error(shipped):
    most = shipped.model.config.max_length - 1
    pieces = len(shipped.tokenizer.encode_target("Haus"))
    for target, can in (("Haus", True), ("", False), ("  ", False), ("Haus " * (most // pieces + 1), False)):
        assert shipped.can_be_given(target) == can
        if can:
            assert shipped.trace("house", target=target).origin == "target"
        else:
            with pytest.raises(UserError):
                shipped.trace("house", target=target)


def test_what_is_printed_takes_one_line(trained):
    trace, activations = trained.record("one two")
    for shown in map(repr, (trained, trace, activations)):
        assert "\n" not in shown and len(shown) < 200


def test_an_unknown_option_names_those_that_exist(trained):
    with pytest.raises(ValueError, match="no option is called beams; there are beam, strategy, prefix"):
        trained.translate(["one"], beams=3)
