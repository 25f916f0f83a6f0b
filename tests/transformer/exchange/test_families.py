"""BART, mBART, M2M100 and NLLB: languages, first tokens, minimal pairs and the alignment of words."""

import json
import math

import pytest
from support.families import FAMILIES, LANGUAGES, write_family
from support.tolerance import near
from transformers import NllbTokenizer

from transformer import Beam, Greedy, Translator
from transformer.data.tokenizer import source_ids
from transformer.errors import EmptyTextError, UserError
from transformer.exchange.importing import import_checkpoint, import_translator


@pytest.fixture(scope="module", params=FAMILIES)
def both(request, tmp_path_factory):
    """Return the import of a model with random weights, its tokenizer of transformers, and its family."""
    folder = tmp_path_factory.mktemp(request.param)
    _, tokenizer = write_family(folder, request.param)
    return Translator(import_checkpoint(folder)), tokenizer, request.param


def test_a_text_that_only_begins_like_an_address_has_no_language(both):
    ours = both[0]
    for language in ours.tokenizer.languages[:1]:
        text = ours.addressed(">> I agree.", language)
        assert text != ">> I agree." and text.endswith(" >> I agree.") and ours.addressed(text, language) == text
    with pytest.raises(UserError, match="no target language 'xyz'|translates into one language"):
        ours.addressed(">> I agree.", "xyz")


def test_a_forced_first_token_begins_every_translation_and_is_in_no_score(both):
    ours, _, family = both
    forced = ours.tokenizer.forced_ids("red dog")
    assert bool(forced) == (family not in ("mbart", "bart")) == ours.model.config.forced_first_token
    for strategy in (Greedy(), Beam(3)):
        one = ours.hypotheses("red dog", strategy)[0]
        trace = ours.trace("red dog", target=one)
        assert one.ids[: len(forced)] == forced and trace.num_forced == len(forced) and trace.target_ids == one.ids
        expected = sum(math.log(p) for p in trace.target_probabilities[len(forced) :])
        assert one.log_probability == near(expected)
        assert trace.decoder_input_ids == (ours.tokenizer.begin_id, *one.ids[:-1])
    replayed = ours.trace("red dog", target="small cat")
    assert replayed.target_ids == (*forced, *ours.tokenizer.encode_target("small cat"), ours.tokenizer.end_id)
    begun = ours.trace("red dog", prefix="small cat").target_ids
    assert begun[: len(replayed.target_ids) - 1] == replayed.target_ids[:-1]
    assert ours.trace("red dog", prefix=[7]).target_ids[0] == 7, "ids are the whole prefix"
    assert ours.tokenizer.end_id not in ours.model.config.never_chosen
    with pytest.raises(EmptyTextError):
        ours.trace(" ")


@pytest.mark.parametrize("both", ["nllb", "m2m100", "mbart50"], indirect=True)
def test_the_languages_are_tokens_of_both_sides(both):
    ours, theirs, family = both
    source, target = LANGUAGES[family]
    ids = theirs.lang_code_to_id if family == "m2m100" else theirs.get_vocab()
    other, third = [code for code in ours.tokenizer.languages if code not in (source, target)][:2]
    trace = ours.trace("red dog")
    assert (trace.source_ids[0], trace.target_ids[0]) == (ids[source], ids[target])
    chosen = ours.trace("red dog", target_language=other, source_language=third)
    assert (chosen.source_ids[0], chosen.target_ids[0]) == (ids[third], ids[other])
    assert chosen.source_ids[1:] == trace.source_ids[1:]
    typed = ours.trace(f">>{third}>>{other}<< red dog")
    assert (typed.source_ids, typed.target_ids) == (chosen.source_ids, chosen.target_ids)
    typed = ours.trace(f">>{other}<< red dog", target_language=third)
    assert (typed.source_ids[0], typed.target_ids[0]) == (ids[source], ids[other]), "the typed language counts"
    assert [chosen.source_text[p.begin : p.end] for p in chosen.source_pieces][1].strip() == "red"
    assert chosen.target_text == ours.translate(["red dog"], target_language=other, source_language=third)[0]
    for side in ("target", "source"):
        with pytest.raises(UserError, match=f"no {side} language 'xx': choose among "):
            ours.translate(["red dog"], **{f"{side}_language": "xx"})
    with pytest.raises(EmptyTextError):
        ours.trace(" ", target_language=other)


@pytest.mark.parametrize("legacy", [True, False])
def test_an_nllb_of_the_older_behaviour_ends_with_the_sources_language(tmp_path, legacy):
    write_family(tmp_path, "nllb")
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"legacy_behaviour": legacy}))
    theirs = NllbTokenizer.from_pretrained(tmp_path, legacy_behaviour=legacy)
    ids = theirs("red dog")["input_ids"]
    language = theirs.convert_tokens_to_ids("eng_Latn")
    assert (ids[0] == language, ids[-1] == language) == (not legacy, legacy)
    assert source_ids(import_translator(tmp_path, "cpu").tokenizer, "red dog") == ids
