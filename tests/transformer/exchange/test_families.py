"""BART, mBART, M2M100 and NLLB: the same numbers as Hugging Face's transformers, weight by weight, token by token."""

import itertools
import json
import math

import numpy as np
import pytest
import torch
from support.families import FAMILIES, LANGUAGES, write_family
from support.models import assert_kept, assert_same_passes
from support.tolerance import near
from transformers import NllbTokenizer

from transformer import Beam, Greedy, Translator
from transformer.corpus.alignment.measure import alignment_maps
from transformer.corpus.alignment.words import split_text, tokenize_pair
from transformer.data.tokenizer import SPACE, source_ids
from transformer.decoding.sampling import LENGTH_MARGIN
from transformer.errors import EmptyTextError, UserError
from transformer.exchange.importing import import_checkpoint, import_translator
from transformer.interpret.what_if.patching import MinimalPair

SOURCES = ((5, 9, 3, 2), (7, 2), (4, 11, 6, 8, 21, 2))
SEEDS = {"nllb": 4, "m2m100": 8}  # with which translations end, after 2 to 14 tokens


@pytest.fixture(scope="module", params=FAMILIES)
def family(request):
    return request.param


@pytest.fixture(scope="module")
def both(family, tmp_path_factory):
    """A model of transformers with random weights, what the import made of its folder, and their tokenizer."""
    folder = tmp_path_factory.mktemp(family)
    theirs, tokenizer = write_family(folder, family, seed=SEEDS.get(family, 1))
    return theirs, Translator(import_checkpoint(folder)), tokenizer


def test_logits_and_all_maps_are_theirs_for_a_padded_batch(both):
    theirs, ours, _ = both
    start = ours.tokenizer.begin_id
    assert_same_passes(theirs, ours, SOURCES, ((start, 4, 8), (start, 12, 3, 5, 9), (start, 7)))


def test_greedy_and_beam_search_find_what_generate_finds(both, family):
    theirs, ours, tokenizer = both
    options = {"do_sample": False, "length_penalty": 1.0, "early_stopping": False}
    if family in LANGUAGES and family != "mbart":
        options["forced_bos_token_id"] = tokenizer.convert_tokens_to_ids(LANGUAGES[family][1])
        if family == "m2m100":
            options["forced_bos_token_id"] = tokenizer.get_lang_id(LANGUAGES[family][1])
    for text, size in itertools.product(["red dog", "old green bird house", "small blue car"], (1, 4)):
        ids = torch.tensor([source_ids(ours.tokenizer, text)])
        most = min(ids.shape[1] + LENGTH_MARGIN, ours.model.config.max_length)
        found = theirs.generate(input_ids=ids, max_new_tokens=most, num_beams=size, **options)[0, 1:].tolist()
        own = ours.best_ids([text], Beam(size, alpha=1.0, penalty="length") if size > 1 else Greedy())[0]
        assert len(own) > 1 and found[: len(own)] == list(own)


def test_a_checkpoint_keeps_all_that_was_imported(both, tmp_path):
    _, ours, _ = both
    again = assert_kept(ours, tmp_path / "again")
    assert ours.translate(["red dog"]) == again.translate(["red dog"])


def test_a_minimal_pair_is_read_as_its_sentences_and_its_prefix_are(both):
    ours = both[1]
    piece = ours.tokenizer.piece_text(ours.tokenizer.encode_target("cat")[0])
    pair = MinimalPair("x", ("red dog", "red dog"), "small", (piece, piece))
    question = pair.question(ours.tokenizer)
    traces = [ours.trace(text, prefix="small") for text in pair.sentences]
    assert (question.clean, question.corrupted) == tuple(trace.source_ids for trace in traces)
    assert question.fed == traces[0].decoder_input_ids[: len(question.fed)]


def test_what_only_begins_like_an_address_is_a_text_like_others(both):
    ours = both[1]
    for language in ours.tokenizer.languages[:1]:
        told = ours.addressed(">> I agree.", language)
        assert told != ">> I agree." and told.endswith(" >> I agree.") and ours.addressed(told, language) == told
    with pytest.raises(UserError, match="no target language 'xyz'|translates into one language"):
        ours.addressed(">> I agree.", "xyz")


def test_words_are_aligned_in_the_rows_and_columns_that_are_theirs(both, family):
    """Ids are those of a trace, tokens joined again are the words, and every aligner has a map."""
    _, ours, _ = both
    languages = LANGUAGES.get(family, ("", ""))[::-1] if ours.tokenizer.languages else ("", "")
    source, target = split_text("small red dog"), split_text("old house")
    pair = tokenize_pair(ours.tokenizer, source, target, languages)
    trace = ours.trace("small red dog", target="old house", target_language=languages[0], source_language=languages[1])
    assert (pair.source_ids, pair.target_ids) == (trace.source_ids, trace.target_ids)
    assert pair.decoder_input == trace.decoder_input_ids
    for table, tokens, words in (
        (pair.source, trace.source_tokens, source.words),
        (pair.target, trace.target_tokens, target.words),
    ):
        assert tuple("".join(np.array(tokens)[column]).replace(SPACE, "") for column in table.T) == words
    maps = alignment_maps(ours.model, pair)
    assert maps.shape[1:] == (len(pair.target_ids), len(pair.source_ids)) and np.isfinite(maps).all()
    assert maps[0] == near(trace.cross[0, 0])


def test_a_given_first_token_is_the_first_of_every_translation_and_in_no_score(both, family):
    _, ours, _ = both
    given = ours.tokenizer.given("red dog")
    assert bool(given) == (family not in ("mbart", "bart")) == ours.model.config.forced_first_token
    for strategy in (Greedy(), Beam(3)):
        one = ours.hypotheses("red dog", strategy)[0]
        trace = ours.trace("red dog", target=one)
        assert one.ids[: len(given)] == given and trace.num_forced == len(given) and trace.target_ids == one.ids
        expected = sum(math.log(p) for p in trace.target_probabilities[len(given) :])
        assert one.log_probability == near(expected)
        assert trace.decoder_input_ids == (ours.tokenizer.begin_id, *one.ids[:-1])
    told = ours.trace("red dog", target="small cat")
    assert told.target_ids == (*given, *ours.tokenizer.encode_target("small cat"), ours.tokenizer.end_id)
    begun = ours.trace("red dog", prefix="small cat")
    assert begun.target_ids[: len(given) + 2] == (*given, *ours.tokenizer.encode_target("small cat"))[: len(given) + 2]
    other = ours.trace("red dog", prefix=[7])
    assert other.target_ids[0] == 7, "ids say all that a translation begins with"
    never = set(ours.model.config.never_chosen)
    assert ours.tokenizer.end_id not in never and ours.may_begin_with([7, 8]) and not ours.may_begin_with([1])
    assert not ours.may_begin_with([ours.tokenizer.end_id, 7]) and ours.may_begin_with([7, ours.tokenizer.end_id])
    for text in ("", "  "):
        with pytest.raises(EmptyTextError):
            ours.trace(text)


@pytest.mark.parametrize("family", ["nllb", "m2m100", "mbart50"], indirect=True, scope="module")
def test_the_languages_are_tokens_of_both_sides(both, family):
    _, ours, theirs = both
    source, target = LANGUAGES[family]
    ids = theirs.lang_code_to_id if family == "m2m100" else theirs.get_vocab()
    other, third = [code for code in ours.tokenizer.languages if code not in (source, target)][:2]
    trace = ours.trace("red dog")
    assert (trace.source_ids[0], trace.target_ids[0]) == (ids[source], ids[target])
    asked = ours.trace("red dog", target_language=other, source_language=third)
    assert (asked.source_ids[0], asked.target_ids[0]) == (ids[third], ids[other])
    assert asked.source_ids[1:] == trace.source_ids[1:]
    typed = ours.trace(f">>{third}>>{other}<< red dog")
    assert (typed.source_ids, typed.target_ids) == (asked.source_ids, asked.target_ids)
    kept = ours.trace(f">>{other}<< red dog", target_language=third)
    assert kept.target_ids[0] == ids[other] and kept.source_ids[0] == ids[source], "what is typed counts"
    assert [asked.source_text[p.begin : p.end] for p in asked.source_pieces][1].strip() == "red"
    assert asked.target_text == ours.translate(["red dog"], target_language=other, source_language=third)[0]
    assert (
        ours.translate(["red dog", "cat"], target_language=other)[0] == ours.trace(f">>{other}<< red dog").target_text
    )
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
