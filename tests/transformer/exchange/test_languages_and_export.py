"""Imported models: languages, first tokens, prefixes of tasks, two vocabularies, export, and the way back."""

import copy
import dataclasses
import json
import math

import numpy as np
import pytest
import torch
from support.families import FAMILIES, LANGUAGES, write_family
from support.marian import make_opus_like, write_model, write_two_vocabularies
from support.models import LIKE_T5, small_model
from support.t5 import PREFIXES, write_t5
from support.texts import SENTENCES
from support.tolerance import near
from transformers import MarianMTModel, MarianTokenizer, NllbTokenizer

from transformer import Beam, Greedy, Translator
from transformer.__main__ import main
from transformer.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from transformer.commands import making
from transformer.data.pairs import read_pairs
from transformer.data.tokenizer import source_ids
from transformer.errors import CheckpointError, EmptyTextError, UserError
from transformer.exchange.exporting import export_marian
from transformer.exchange.importing import exact_dtype, import_checkpoint, import_translator


def test_the_smallest_exact_type_changes_no_number(both):
    model = copy.deepcopy(both[0].model)
    assert exact_dtype(model) == torch.float32
    for dtype, size in ((torch.float16, 1.0), (torch.bfloat16, 1e-9)):  # so small are none in half precision
        for parameter, weight in zip(model.parameters(), both[0].model.parameters(), strict=True):
            parameter.data = (weight.data * size).to(dtype).float()
        assert exact_dtype(model) == dtype


def test_a_target_language_is_the_first_piece_typed_or_as_an_option(both, shipped):
    ours, _ = both
    typed = ours.trace(">>gos<< red dog")
    chosen = ours.trace("red dog", target_language="gos")
    assert chosen.source_tokens[0] == ">>gos<<" and chosen.source_ids == typed.source_ids
    assert np.array_equal(chosen.cross, typed.cross)
    assert ours.translate(["red dog"], target_language="gos") == ours.translate([">>gos<< red dog"])
    assert ours.trace(">>deu<< red dog", target_language="gos").source_tokens[0] == ">>deu<<", "the typed one counts"
    with pytest.raises(UserError, match="no target language 'fra': choose among deu, gos"):
        ours.translate(["red dog"], target_language="fra")
    with pytest.raises(EmptyTextError):
        ours.translate([" "], target_language="gos")
    with pytest.raises(UserError, match="it translates into one language"):
        shipped.trace("I love my teacher.", target_language="deu")


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Return the import of a model of transformers with random weights, and their tokenizer."""
    folder = tmp_path_factory.mktemp("marian")
    write_model(folder, activation_function="swish", scale_embedding=True)
    return Translator(import_checkpoint(folder)), MarianTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def exported(checkpoints, tmp_path_factory):
    """Return folders of en-de as a Marian model, and under a vocabulary like opus-mt's."""
    folder = tmp_path_factory.mktemp("exported")
    export_marian(load_checkpoint(checkpoints / "en-de"), folder / "marian")
    make_opus_like(folder / "marian", folder / "opus")
    return folder


@pytest.fixture(scope="module")
def sources(checkpoints):
    return [source for source, _ in read_pairs(checkpoints / "en-de" / "samples.tsv")][:24]


def test_transformers_translates_with_the_exported_model_token_for_token(exported, shipped, sources, tmp_path):
    model = MarianMTModel.from_pretrained(exported / "marian").eval()
    tokenizer = MarianTokenizer.from_pretrained(exported / "marian")
    assert [shipped.tokenizer.begin_id] in model.generation_config.bad_words_ids
    batch = tokenizer(sources, return_tensors="pt", padding=True)
    assert [row[: row.index(shipped.tokenizer.end_id) + 1] for row in batch["input_ids"].tolist()] == [
        [*shipped.tokenizer.encode(text), shipped.tokenizer.end_id] for text in sources
    ]
    output = model.generate(**batch, num_beams=1, do_sample=False)
    for row, ids in zip(output.tolist(), shipped.best_ids(sources), strict=True):
        assert row[1 : len(ids) + 1] == list(ids)
    assert [tokenizer.decode(row, skip_special_tokens=True) for row in output] == shipped.translate(sources)
    for checkpoint, folder, message in (
        (shipped.checkpoint, exported / "marian", "there already"),
        (Checkpoint(small_model(norm="pre"), shipped.tokenizer), tmp_path / "out", "pre-norm, and Marian's models are"),
        (Checkpoint(small_model(**LIKE_T5["t5-1.1"]), shipped.tokenizer), tmp_path / "out", "This model cannot be"),
    ):
        with pytest.raises(CheckpointError, match=message):
            export_marian(checkpoint, folder)
    assert not list(tmp_path.iterdir())


def test_a_trained_model_comes_back_from_an_opus_like_folder_as_it_went(exported, shipped, sources):
    back, last = import_translator(exported / "opus", "cpu"), len(shipped.tokenizer) - 2
    assert back.model.config == dataclasses.replace(
        shipped.model.config, vocab_size=last + 1, output_bias=True, pad_id=last, begin_id=last, end_id=0
    )
    assert back.translate(sources) == shipped.translate(sources)
    for text in sources[:4]:
        trace, other = shipped.trace(text), back.trace(text)
        assert other.source_pieces[0].text == trace.source_pieces[0].text
        assert [(p.begin, p.end) for p in other.source_pieces] == [(p.begin, p.end) for p in trace.source_pieces]
        assert other.target_tokens == trace.target_tokens and other.decoder_input_tokens[0] == "<pad>"
        for kind in ("encoder", "decoder", "cross"):
            assert other.attention(kind) == near(trace.attention(kind))
    origin = {"name": "Helsinki-NLP/opus-mt-en-de", "licence": "cc-by-4.0", "source_language": "English"}
    assert origin.items() <= back.checkpoint.data.items()


def test_each_side_has_the_ids_and_texts_of_its_own_vocabulary(tmp_path):
    write_two_vocabularies(tmp_path)
    ours, theirs = Translator(import_checkpoint(tmp_path)), MarianTokenizer.from_pretrained(tmp_path)
    for text in (*SENTENCES, "red dog"):
        assert [*ours.tokenizer.encode(text), 0] == theirs(text)["input_ids"]
        target = theirs(text_target=text)["input_ids"]
        assert ours.tokenizer.encode_target(text) == target[:-1]
    trace = ours.trace("red dog", target="rot Hund")
    source, target = (json.loads((tmp_path / name).read_text()) for name in ("vocab.json", "target_vocab.json"))
    assert [source[token] for token in trace.source_tokens] == list(trace.source_ids)
    assert [target[token] for token in trace.target_tokens] == list(trace.target_ids)
    assert trace.target_text == "rot Hund"
    assert ours.may_begin_with([len(target) - 1]) and not ours.may_begin_with([len(target)])
    with pytest.raises(CheckpointError, match="its languages have a vocabulary each"):
        export_marian(ours.checkpoint, tmp_path / "out")
    save_checkpoint(tmp_path, ours.checkpoint, torch.float32)
    swapped = {"<pad>": target["</s>"], "</s>": target["<pad>"]}
    (tmp_path / "target_vocab.json").write_text(json.dumps(target | swapped))
    with pytest.raises(CheckpointError, match="unlike ids"):
        load_checkpoint(tmp_path)


@pytest.fixture
def t5_folder(tmp_path):
    t5_folder = tmp_path / "model"
    t5_folder.mkdir()
    write_t5(t5_folder, "flan-t5")
    return t5_folder


def test_prefixes_of_tasks_are_imported_and_come_first(t5_folder, tmp_path):
    ours = import_translator(t5_folder, "cpu")
    assert ours.checkpoint.prefixes == PREFIXES
    chosen = ours.trace("red dog", task="translate English to German:")
    typed = ours.trace("translate English to German: red dog")
    assert chosen.source_text == typed.source_text and chosen.source_ids == typed.source_ids
    assert chosen.source_ids != ours.trace("red dog").source_ids
    again = ours.trace("translate English to German: red dog", task="translate English to German: ")
    assert again.source_text == typed.source_text, "a typed prefix is not added again"
    assert ours.translate(["red dog"], task=PREFIXES["summarization"]) == ours.translate(["summarize: red dog"])
    with pytest.raises(CheckpointError):
        import_translator(tmp_path, "cpu")


@pytest.mark.usefixtures("command_line")
def test_an_import_states_a_large_share_without_content(exported, tmp_path, capsys, monkeypatch):
    trace = import_translator(exported / "opus", "cpu").trace(making.SAMPLE, target=making.SAMPLE)
    share = trace.special_share().total("cross").mean()
    for limit in (share - 0.01, share + 0.01):
        monkeypatch.setattr(making, "MOST_WITHOUT_CONTENT", limit)
        assert main(["import", str(exported / "opus"), "--out", str(tmp_path / str(limit))]) == 0
        assert (f"{share:.0%} of its cross-attention" in capsys.readouterr().out) == (share > limit)


@pytest.mark.usefixtures("command_line")
def test_commands_use_the_languages_and_the_prefix_of_their_options(both, t5_folder, tmp_path, capsys):
    folder, made, pairs, tables = tmp_path / "marian", tmp_path / "t5", tmp_path / "pairs.tsv", []
    save_checkpoint(folder, both[0].checkpoint)
    for start, *options in (("",), ("", "--target-language", "gos"), (">>gos<< ",)):
        pairs.write_text("".join(f"{start}{text}\tred dog\n" for text in ("red dog", "red cat", "dog")))
        out = tmp_path / f"{len(tables)}.csv"
        measure = ["importance", "--checkpoint", str(folder), "--pairs", str(pairs), "--out", str(out)]
        assert main([*measure, *options]) == 0
        tables.append(out.read_text())
    assert tables[1] == tables[2] != tables[0]
    task = PREFIXES["translation_en_to_de"]
    save_checkpoint(made, import_checkpoint(t5_folder))
    assert main(["translate", "red dog", "--prefix", task, "--checkpoint", str(made)]) == 0
    assert capsys.readouterr().out.splitlines()[-1:] == Translator.load(made).translate([f"{task} red dog"])


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, tmp_path_factory):
    """Return the import of a model with random weights, its tokenizer of transformers, and its family."""
    folder = tmp_path_factory.mktemp(request.param)
    _, tokenizer = write_family(folder, request.param)
    return Translator(import_checkpoint(folder)), tokenizer, request.param


def test_a_text_that_only_begins_like_an_address_has_no_language(family):
    ours = family[0]
    for language in ours.tokenizer.languages[:1]:
        text = ours.addressed(">> I agree.", language)
        assert text != ">> I agree." and text.endswith(" >> I agree.") and ours.addressed(text, language) == text
    with pytest.raises(UserError, match="no target language 'xyz'|translates into one language"):
        ours.addressed(">> I agree.", "xyz")


def test_a_forced_first_token_begins_every_translation_and_is_in_no_score(family):
    ours, _, name = family
    forced = ours.tokenizer.forced_ids("red dog")
    assert bool(forced) == (name not in ("mbart", "bart")) == ours.model.config.forced_first_token
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


@pytest.mark.parametrize("family", ["nllb", "m2m100", "mbart50"], indirect=True)
def test_the_languages_are_tokens_of_both_sides(family):
    ours, theirs, name = family
    source, target = LANGUAGES[name]
    ids = theirs.lang_code_to_id if name == "m2m100" else theirs.get_vocab()
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
