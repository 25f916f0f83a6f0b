"""Pages with models of other libraries: the bar's languages and tasks, and what differs from the paper's model."""

import shutil

import pytest
from support.pages import open_address, open_page, page_text, payload, specs
from support.t5 import PREFIXES

from headlight.app import results
from headlight.app.results import TranslationRequest
from transformer import Beam, Greedy, Translator

SMALL = "random"  # SiLU, embeddings as they are, a bias per piece
BART = "bart-cnn"  # learned positions, a LayerNorm after them, a forced first token
NLLB = "nllb"  # pre-norm, sinusoids with another base and first position, languages on both sides
FLAN = "flan-t5"  # a task before the text
GERMAN = PREFIXES["translation_en_to_de"]
WHOLE_TEXT = "nothing before the text"


@pytest.fixture(autouse=True)
def only_imported(imported, monkeypatch):
    monkeypatch.setattr(results, "CHECKPOINTS", imported)


def test_the_source_and_licence_of_an_imported_model_are_named():
    app = open_address("/decoding", checkpoint="opus")
    assert "Imported: Helsinki-NLP/opus-mt-en-de (cc-by-4.0)" in page_text(app)
    assert not {"target", "source", "instruction"} & {each.key for each in app.selectbox}, "it has one task"


@pytest.mark.parametrize(
    ("name", "field", "start", "chosen", "options"),
    [
        (SMALL, "target", "deu", "gos", {"target_language": "gos"}),
        (NLLB, "target", "fra_Latn", "jpn_Jpan", {"target_language": "jpn_Jpan", "source_language": "eng_Latn"}),
        (NLLB, "source", "eng_Latn", "deu_Latn", {"target_language": "fra_Latn", "source_language": "deu_Latn"}),
        (FLAN, "instruction", GERMAN, PREFIXES["summarization"], {"task": PREFIXES["summarization"]}),
        (FLAN, "instruction", GERMAN, WHOLE_TEXT, {"task": None}),
    ],
)
def test_languages_and_task_are_chosen_in_the_bar_and_kept_in_the_address(
    name, field, start, chosen, options, imported
):
    app = open_address("/decoding", checkpoint=name, text="red dog")
    assert app.selectbox(key=field).value == start and chosen in app.selectbox(key=field).options
    app.selectbox(key=field).set_value(chosen).run()
    trace, facts = Translator.load(imported / name).trace("red dog", **options), payload(app)["facts"]
    assert facts["source_tokens"] == list(trace.source_tokens) and facts["target_tokens"] == list(trace.target_tokens)
    linked = open_address("/decoding", checkpoint=name, text="red dog", **{field: chosen})
    assert linked.selectbox(key=field).value == chosen and payload(linked)["facts"] == facts
    unknown = open_address("/decoding", checkpoint=name, text="red dog", **{field: "xxx"})
    assert unknown.selectbox(key=field).value == start


@pytest.mark.parametrize(("name", "first", "forced"), [(NLLB, "fra_Latn", 1), (BART, "<s>", 1), ("opus", "", 0)])
def test_the_player_knows_the_number_of_forced_tokens(name, first, forced):
    facts = payload(open_address("/decoding", checkpoint=name, text="red dog"))["facts"]
    assert facts["num_forced"] == forced and (not forced or facts["target_tokens"][0] == first)


@pytest.mark.parametrize("strategy", [Greedy(), Beam(2)])
def test_early_layers_translate_into_the_language_and_the_last_one_is_the_translation(strategy):
    checkpoint = results.checkpoint(NLLB)
    choice = TranslationRequest(checkpoint, "red dog", strategy, language="jpn_Jpan", source_language="deu_Latn")
    study = results.study(choice)
    early, trace = study.early_translations(), study.trace
    assert early[-1].ids == trace.target_ids and {one.ids[0] for one in early} == {trace.target_ids[0]}


def test_a_few_sentence_pairs_are_enough_for_calibration_and_none_gets_a_message(imported, tmp_path, monkeypatch):
    for name, pairs in (("few", "red dog\tred dog\nbig cat\tbig cat\n"), ("long", f"{'red ' * 90}\tred\n")):
        shutil.copytree(imported / SMALL, tmp_path / name)
        (tmp_path / name / "samples.tsv").write_text(pairs, encoding="utf-8")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    few = open_page("pages/research.py", research="calibration", checkpoint="few", text="red dog")
    assert len(specs(few)) == 2 and not few.warning and not few.error
    long = open_page("pages/research.py", research="calibration", checkpoint="long", text="red dog")
    assert "No pair of the corpus fits" in page_text(long)
