"""The pages with models of another library: every view opens, and says what these are, not what the paper's is."""

import json
import shutil

import pytest
import torch
from support.families import write_family
from support.marian import make_opus_like, write_model
from support.pages import components, open_address, open_page, page_text, specs, unfolded

from headlight.app import results
from headlight.app.results import TranslationRequest, what_if
from transformer import Beam, Greedy, Translator
from transformer.checkpoint import load_checkpoint, save_checkpoint
from transformer.exchange.exporting import export_marian
from transformer.exchange.importing import import_checkpoint

SMALL = "random"  # SiLU, embeddings as they are, a bias a piece
BART = "bart-cnn"  # learned positions, a LayerNorm after them, a first token that is given
NLLB = "nllb"  # pre-norm, sinusoids of another base and beginning, languages on both sides


@pytest.fixture(scope="module")
def folder(checkpoints, tmp_path_factory):
    """Four imported checkpoints: en-de come back from an opus-like folder, and small ones with random weights."""
    made, folder = tmp_path_factory.mktemp("models"), tmp_path_factory.mktemp("checkpoints")
    export_marian(load_checkpoint(checkpoints / "en-de"), made / "marian")
    make_opus_like(made / "marian", made / "opus")
    (made / SMALL).mkdir()
    write_model(made / SMALL, activation_function="swish", scale_embedding=False, _name_or_path="Helsinki/random")
    for name in (BART, NLLB):
        (made / name).mkdir()
        write_family(made / name, name)
    for name in ("opus", SMALL, BART, NLLB):
        save_checkpoint(folder / name, import_checkpoint(made / name), torch.float32)
    return folder


@pytest.fixture(autouse=True)
def only_imported(folder, monkeypatch):
    monkeypatch.setattr(results, "CHECKPOINTS", folder)


def decoding_facts(app) -> dict:
    """Return the facts that the decoding player gets."""
    return json.loads(components(app)[0].proto.json)["facts"]


def test_a_decoder_that_begins_with_padding_is_explained(folder):
    app = open_address("/inside?inside=masks", checkpoint="opus", text="I love my teacher.")
    assert "This model's decoder begins with ⟨pad⟩" in page_text(unfolded(app, "batch"))
    sidebar = page_text(open_address("/decoding", checkpoint="opus"))
    assert "Imported: Helsinki-NLP/opus-mt-en-de (cc-by-4.0)" in sidebar


def test_the_bar_offers_the_target_languages_and_the_address_keeps_them(folder):
    app = open_address("/decoding", checkpoint=SMALL, text="red dog")
    assert app.selectbox(key="target").options == ["deu", "gos"]
    app.selectbox(key="target").set_value("gos").run()
    translator = Translator.load(folder / SMALL)
    assert translator.trace("red dog", target_language="gos").target_text.split()[0] in page_text(app)
    linked = open_address("/decoding", checkpoint=SMALL, text="red dog", target="gos")
    assert linked.selectbox(key="target").value == "gos" and page_text(linked) == page_text(app)
    unknown = open_address("/decoding", checkpoint=SMALL, text="red dog", target="xxx")
    assert unknown.selectbox(key="target").value == "deu"
    both = open_address("/inside?inside=masks", checkpoint=SMALL, text="red dog", second="small cat", target="gos")
    both = unfolded(both, "batch")
    assert "&gt;&gt;gos&lt;&lt;" in "".join(each.proto.body for each in both.get("html"))
    assert not [each for each in open_address("/decoding", checkpoint="opus").selectbox if each.key == "target"]


def test_a_model_of_many_languages_is_told_both_in_the_bar_and_shows_the_given_one(folder):
    translator = Translator.load(folder / NLLB)
    app = open_address("/decoding", checkpoint=NLLB, text="red dog", target="jpn_Jpan")
    assert app.selectbox(key="source").value == "eng_Latn" and app.selectbox(key="target").value == "jpn_Jpan"
    assert app.selectbox(key="source").options == list(translator.tokenizer.source_languages)
    app.selectbox(key="source").set_value("deu_Latn").run()
    trace = translator.trace("red dog", target_language="jpn_Jpan", source_language="deu_Latn")
    assert trace.source_tokens[0] == "deu_Latn" and trace.target_tokens[0] == "jpn_Jpan"
    facts = decoding_facts(app)
    assert (facts["source_tokens"][0], facts["target_tokens"][0]) == ("deu_Latn", "jpn_Jpan") and not app.error
    # The player says of the first `num_forced` tokens that they are given.
    for name, first in ((NLLB, "fra_Latn"), (BART, "<s>")):
        facts = decoding_facts(open_address("/decoding", checkpoint=name, text="red dog"))
        assert facts["num_forced"] == 1 and facts["target_tokens"][0] == first
    facts = decoding_facts(open_address("/decoding", checkpoint="opus", text="I love my teacher."))
    assert facts["num_forced"] == 0
    masks = open_address("/inside?inside=masks", checkpoint=NLLB, text="red dog", second="small cat")
    assert "decoder begins with ⟨end⟩" in page_text(unfolded(masks, "batch"))


@pytest.mark.parametrize("strategy", [Greedy(), Beam(2)])
def test_early_layers_are_told_the_language_too_and_the_last_one_writes_the_translation(folder, strategy):
    checkpoint = results.checkpoint(NLLB)
    choice = TranslationRequest(checkpoint, "red dog", strategy, language="jpn_Jpan", source_language="deu_Latn")
    early, trace = what_if.early_translations(choice), results.trace(choice)
    assert early[-1].ids == trace.target_ids and {one.ids[0] for one in early} == {trace.target_ids[0]}


def test_a_handful_of_sentence_pairs_is_enough_for_calibration_and_none_is_said(folder, tmp_path, monkeypatch):
    for name, pairs in (("few", "red dog\tred dog\nbig cat\tbig cat\n"), ("long", f"{'red ' * 90}\tred\n")):
        shutil.copytree(folder / SMALL, tmp_path / name)
        (tmp_path / name / "samples.tsv").write_text(pairs, encoding="utf-8")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    few = open_page("pages/research.py", research="calibration", checkpoint="few", text="red dog")
    assert len(specs(few)) == 2 and not few.warning and not few.error
    long = open_page("pages/research.py", research="calibration", checkpoint="long", text="red dog")
    assert "No pair of the corpus fits" in page_text(long)
