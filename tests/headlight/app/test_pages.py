"""Pages through Streamlit's test runner: the bar's sentence, checkpoint and decoding, and refused inputs."""

import shutil

import pytest
from support.pages import ROOT, components, open_page, page_text

from headlight.app import results
from headlight.app.bar import examples
from transformer import Sampling

SENTENCE, EXAMPLE, *_ = examples()


def test_first_sentence_examples_and_typed_sentences_are_translated(shipped):
    app = open_page()
    assert app.text_input(key="text").value == SENTENCE and components(app)
    assert shipped.translate([SENTENCE])[0] in page_text(app)
    menu, _ = app.get("menu_button")  # and that of languages
    menu.click(EXAMPLE).run()
    assert app.text_input(key="text").value == EXAMPLE
    assert shipped.translate([EXAMPLE])[0] in page_text(app)
    app.text_input(key="text").input("Where is my cat?").run()
    assert shipped.translate(["Where is my cat?"])[0] in page_text(app)


@pytest.mark.parametrize("seed", ["7", "inf", "-3", "9" * 5000])
def test_the_address_chooses_the_decoding_and_invalid_values_are_replaced(shipped, seed):
    app = open_page(decoding="sampling", temperature="0.5", seed=seed, checkpoint="../../etc", head="cross.99.evil")
    assert not app.warning and not app.exception
    strategy = Sampling(temperature=0.5, seed=7 if seed == "7" else 1)
    assert shipped.translate([SENTENCE], strategy=strategy)[0] in page_text(app)


def test_the_address_chooses_a_beam(shipped):
    assert shipped.translate([SENTENCE], beam=3)[0] in page_text(open_page(decoding="beam", beam="3"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("   \n\t \u200b", "is empty"),
        ("Привет, мир", "never seen"),
        ("I love 🍕.", "🍕"),
    ],
)
def test_an_untranslatable_text_gets_a_message_and_stays(text, message):
    app = open_page()
    app.text_input(key="text").input(text).run()
    assert not app.exception and app.text_input(key="text").value == text
    assert any(message in warning.value.replace("\\", "") for warning in app.warning)


def test_a_text_of_another_language_is_noticed_and_led_to_a_checkpoint_that_reads_it(tmp_path, monkeypatch):
    for name in ("en-de", "de-en"):
        shutil.copytree(ROOT / "checkpoints" / "en-de", tmp_path / name, ignore=shutil.ignore_patterns("resume"))
    training = tmp_path / "de-en" / "training.json"
    training.write_text(training.read_text().replace('"source_language": "English"', '"source_language": "deu"', 1))
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    app = open_page("pages/attention.py", checkpoint="en-de", text="Ich liebe meine Lehrerin.")
    (notice,) = app.warning
    assert "looks like German" in notice.value
    links = [element.proto.body for element in app.get("html") if 'class="pair"' in element.proto.body]
    assert len(links) == 1 and "checkpoint=de-en&amp;text=Ich" in links[0]
    app.text_input(key="text").input(SENTENCE).run()
    assert not app.warning
    assert list(app.selectbox(key="checkpoint").options) == ["deu → German", "English → German"]


def test_an_empty_field_keeps_the_last_sentence(shipped):
    app = open_page(text=EXAMPLE)
    app.text_input(key="text").input(" ").run()
    assert not app.warning and shipped.translate([EXAMPLE])[0] in page_text(app)


def test_a_missing_or_damaged_checkpoint_is_reported_and_another_can_be_chosen(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    assert "There is no checkpoint" in open_page().error[0].value
    for name in ("a-broken", "b-whole"):
        shutil.copytree(ROOT / "checkpoints" / "en-de", tmp_path / name, ignore=shutil.ignore_patterns("resume"))
    weights = tmp_path / "a-broken" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    app = open_page()
    assert "damaged" in app.error[0].value
    app.selectbox(key="checkpoint").select("b-whole").run()
    assert not app.exception and not app.error and components(app)
