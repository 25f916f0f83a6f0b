"""Marian's models in and out: the same numbers as Hugging Face's transformers, weight by weight and token by token."""

import copy
import dataclasses
import itertools

import numpy as np
import pytest
import torch
from support.marian import LANGUAGES, make_opus_like, write_model
from support.models import assert_same_passes
from support.texts import SENTENCES
from support.tolerance import near
from transformers import MarianMTModel, MarianTokenizer

from transformer import Beam, Greedy, Translator
from transformer.__main__ import main
from transformer.checkpoint import load_checkpoint, save_checkpoint
from transformer.config import Activation
from transformer.data.pairs import read_pairs
from transformer.data.tokenizer import source_ids
from transformer.decoding.sampling import LENGTH_MARGIN
from transformer.errors import CheckpointError, EmptyTextError, UserError
from transformer.exchange.exporting import export_marian
from transformer.exchange.importing import exact_dtype, import_checkpoint, import_translator

AWKWARD = ("", " ", ">>deu<<", ">>deu<< red dog", ">>xxx<< a", ">> <<", "a >>deu<< b", "<<", ">>")
SOURCES = ((5, 9, 3, 0), (7, 0), (4, 11, 6, 8, 21, 0))
SHAPES = {
    "swish": {"activation_function": "swish", "scale_embedding": True},
    "gelu, not scaled": {"activation_function": "gelu", "scale_embedding": False},
    "relu": {"activation_function": "relu", "scale_embedding": True},
}


@pytest.fixture(scope="module", params=SHAPES)
def both(request, tmp_path_factory):
    """A model of transformers with random weights, and what the import made of its folder."""
    folder = tmp_path_factory.mktemp("marian")
    theirs = write_model(folder, seed=len(request.param), **SHAPES[request.param])
    return theirs, Translator(import_checkpoint(folder)), MarianTokenizer.from_pretrained(folder)


def test_logits_and_all_maps_are_theirs_for_a_padded_batch(both):
    theirs, ours, _ = both
    start = ours.tokenizer.begin_id
    assert start == ours.tokenizer.pad_id
    assert_same_passes(theirs, ours, SOURCES, ((start, 4, 8), (start, 12, 3, 5, 9), (start, 2)))


def test_greedy_and_beam_search_find_what_generate_finds(both):
    theirs, ours, _ = both
    texts = ["red dog", "old green bird house", "small blue car"]
    for text, size in itertools.product(texts, (1, 4)):
        ids = torch.tensor([[*ours.tokenizer.encode(text), ours.tokenizer.end_id]])
        most = min(ids.shape[1] + LENGTH_MARGIN, ours.model.config.max_length)
        options = {"num_beams": size, "do_sample": False, "length_penalty": 1.0, "early_stopping": False}
        found = theirs.generate(input_ids=ids, max_new_tokens=most, **options)[0, 1:].tolist()
        own = ours.best_ids([text], Beam(size, alpha=1.0, penalty="length") if size > 1 else Greedy())[0]
        assert len(own) > 1 and found[: len(own)] == list(own)


def test_codes_of_languages_and_target_texts_become_their_ids(both):
    _, ours, theirs = both
    for text in (*SENTENCES, *AWKWARD, "red dog", "old green bird house"):
        target = theirs(text_target=text)["input_ids"]
        assert ours.tokenizer.encode_target(text) == target[:-1], text
        assert source_ids(ours.tokenizer, text) == theirs(text)["input_ids"], text
    assert [f">>{language}<<" for language in ours.tokenizer.languages] == sorted(LANGUAGES)


def test_what_the_configuration_says_is_kept_by_the_checkpoint(both, tmp_path):
    theirs, ours, _ = both
    save_checkpoint(tmp_path / "again", ours.checkpoint, torch.float32)
    again = load_checkpoint(tmp_path / "again")
    assert again.model.config == ours.model.config
    assert again.model.config.activation == Activation(theirs.config.activation_function.replace("swish", "silu"))
    assert again.tokenizer.files == ours.tokenizer.files
    for (name, weight), (_, other) in zip(again.model.named_parameters(), ours.model.named_parameters(), strict=True):
        assert torch.equal(weight, other), name


def test_the_smallest_exact_type_changes_no_number(both):
    model = copy.deepcopy(both[1].model)
    assert exact_dtype(model) == torch.float32
    for dtype, size in ((torch.float16, 1.0), (torch.bfloat16, 1e-9)):  # so small are none in half precision
        for parameter, own in zip(model.parameters(), both[1].model.parameters(), strict=True):
            parameter.data = (own.data * size).to(dtype).float()
        assert exact_dtype(model) == dtype


def test_a_target_language_is_the_first_piece_however_it_is_asked_for(both):
    _, ours, _ = both
    typed = ours.trace(">>gos<< red dog")
    asked = ours.trace("red dog", target_language="gos")
    assert asked.source_tokens[0] == ">>gos<<" and asked.source_ids == typed.source_ids
    assert np.array_equal(asked.cross, typed.cross)
    assert ours.translate(["red dog"], target_language="gos") == ours.translate([">>gos<< red dog"])
    assert ours.trace(">>deu<< red dog", target_language="gos").source_tokens[0] == ">>deu<<", "what is typed counts"
    with pytest.raises(UserError, match="no target language 'fra': choose among deu, gos"):
        ours.translate(["red dog"], target_language="fra")
    with pytest.raises(EmptyTextError):
        ours.translate([" "], target_language="gos")


def test_what_is_measured_over_a_corpus_is_addressed_to_the_language_asked_for(both, tmp_path):
    _, ours, _ = both
    folder, pairs = tmp_path / "checkpoint", tmp_path / "pairs.tsv"
    save_checkpoint(folder, ours.checkpoint)
    of = ["--checkpoint", str(folder), "--pairs", str(pairs), "--device", "cpu"]
    measured = []
    for start, *asked in (("",), ("", "--target-language", "gos"), (">>gos<< ",)):
        pairs.write_text("".join(f"{start}{text}\tred dog\n" for text in ("red dog", "red cat", "dog")))
        out = tmp_path / f"{len(measured)}.csv"
        assert main(["importance", *of, "--out", str(out), *asked]) == 0
        measured.append(out.read_text())
    assert measured[1] == measured[2] != measured[0]
    heads = ["heads", *of, "--target-language", "fra"]
    assert main([*heads, "--out", str(tmp_path / "heads.json")]) == 0
    pairs.write_text("red dog\tred dog\n")
    assert main([*heads, "--out", str(tmp_path / "none.json")]) == 1


def test_a_model_of_one_language_has_none_to_choose(shipped):
    with pytest.raises(UserError, match="it translates into one language"):
        shipped.trace("I love my teacher.", target_language="deu")


@pytest.fixture(scope="module")
def exported(checkpoints, tmp_path_factory):
    """en-de as a folder of Marian's, and as its opus-like twin."""
    folder = tmp_path_factory.mktemp("exported")
    export_marian(load_checkpoint(checkpoints / "en-de"), folder / "marian")
    make_opus_like(folder / "marian", folder / "opus")
    return folder


@pytest.fixture(scope="module")
def sources(checkpoints):
    return [source for source, _ in read_pairs(checkpoints / "en-de" / "samples.tsv")][:100]


def test_transformers_translates_a_hundred_sentences_with_the_exported_model_token_for_token(
    exported, shipped, sources
):
    model = MarianMTModel.from_pretrained(exported / "marian").eval()
    tokenizer = MarianTokenizer.from_pretrained(exported / "marian")
    batch = tokenizer(sources, return_tensors="pt", padding=True)
    assert [row[: row.index(shipped.tokenizer.end_id) + 1] for row in batch["input_ids"].tolist()] == [
        [*shipped.tokenizer.encode(text), shipped.tokenizer.end_id] for text in sources
    ]
    found = model.generate(**batch, num_beams=1, do_sample=False)
    own = shipped.best_ids(sources)
    for row, ids in zip(found.tolist(), own, strict=True):
        assert row[1 : len(ids) + 1] == list(ids)
    assert [tokenizer.decode(row, skip_special_tokens=True) for row in found] == shipped.translate(sources)


def test_a_trained_model_comes_back_from_an_opus_like_folder_as_it_went(exported, shipped, sources):
    back = import_translator(exported / "opus", "cpu")
    assert back.model.config == dataclasses.replace(
        shipped.model.config, vocab_size=11_999, output_bias=True, pad_id=11_998, begin_id=11_998, end_id=0
    )
    assert back.translate(sources) == shipped.translate(sources)
    for text in sources[:20]:
        own, other = shipped.trace(text), back.trace(text)
        assert other.source_pieces[0].text == own.source_pieces[0].text
        assert [(p.begin, p.end) for p in other.source_pieces] == [(p.begin, p.end) for p in own.source_pieces]
        assert other.target_tokens == own.target_tokens and other.decoder_input_tokens[0] == "<pad>"
        for kind in ("encoder", "decoder", "cross"):
            assert other.attention(kind) == near(own.attention(kind))
    data = back.checkpoint.data
    assert (data["name"], data["licence"]) == ("Helsinki-NLP/opus-mt-en-de", "cc-by-4.0")
    assert (data["source_language"], data["target_language"]) == ("English", "German")


def test_what_marian_cannot_be_is_refused_and_nothing_is_overwritten(exported, checkpoints, shipped, tmp_path):
    with pytest.raises(CheckpointError, match="pre-norm, and Marian's models are post-norm"):
        export_marian(load_checkpoint(checkpoints / "reverse"), tmp_path / "out")
    assert not list(tmp_path.iterdir())
    before = (exported / "marian" / "config.json").stat().st_mtime_ns
    with pytest.raises(CheckpointError, match="there already"):
        export_marian(shipped.checkpoint, exported / "marian")
    assert (exported / "marian" / "config.json").stat().st_mtime_ns == before
