"""Pages through Streamlit's test runner: the bar's sentence, checkpoint and decoding, and refused inputs."""

import shutil

import pytest
from support.pages import PAGES, ROOT, components, open_page, page_text, shows_only_text

from headlight.app import results
from headlight.app.bar import EXAMPLES
from transformer import Sampling


@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_with_a_sentence_and_its_translation(page, shipped):
    app = open_page(page)
    sentence = next(iter(EXAMPLES))
    assert app.text_input(key="text").value == sentence and components(app)
    assert shipped.translate([sentence])[0] in page_text(app)


def test_examples_and_typed_sentences_are_translated(shipped):
    app = open_page()
    (menu,) = app.get("menu_button")
    example = list(EXAMPLES)[1]
    menu.click(example).run()
    assert app.text_input(key="text").value == example
    assert shipped.translate([example])[0] in page_text(app)
    app.text_input(key="text").input("Where is my cat?").run()
    assert shipped.translate(["Where is my cat?"])[0] in page_text(app)


def test_the_example_of_nested_clauses_has_its_verb_last_in_german_alone(shipped):
    (sentence,) = [text for text, reason in EXAMPLES.items() if "where does the second verb go?" in reason]
    (translation,) = shipped.translate([sentence])
    _, _, clause = sentence.rstrip(".").partition(" that ")
    _, _, translated = translation.rstrip(".").partition(", dass ")
    assert clause.split()[1] == "has" and translated.split()[-1] == "hat"


@pytest.mark.parametrize("seed", ["7", "inf", "nan", "-3", "1e400", "9" * 5000, "<b>"])
def test_the_address_chooses_the_decoding_and_invalid_seeds_are_replaced(shipped, seed):
    app = open_page(decoding="sampling", temperature="0.5", seed=seed)
    assert not app.warning and not app.exception
    strategy = Sampling(temperature=0.5, seed=7 if seed == "7" else 1)
    assert shipped.translate([next(iter(EXAMPLES))], strategy=strategy)[0] in page_text(app)


def test_the_address_chooses_a_beam(shipped):
    assert shipped.translate([next(iter(EXAMPLES))], beam=3)[0] in page_text(open_page(decoding="beam", beam="3"))


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("   \n\t \u200b", "is empty"),
        ("word " * 500, "at most 127"),
        ("x" * 100_000, "at most 127"),
        ("Привет, мир", "never seen"),
        ("I love 🍕.", "🍕"),
    ],
)
def test_an_untranslatable_text_gets_a_message_and_stays(page, text, message):
    app = open_page(page)
    app.text_input(key="text").input(text).run()
    assert not app.exception and app.text_input(key="text").value == text
    assert any(message in warning.value.replace("\\", "") for warning in app.warning)


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "**bold** [link](http://x.y) $x^2$ :red[no]", "\x00%{z}"]
)
def test_markup_is_displayed_as_text(text):
    app = open_page()
    app.text_input(key="text").input(text).run()
    assert not app.exception and shows_only_text(app)


def test_invalid_values_in_the_address_are_replaced():
    app = open_page(head="cross.99.evil", decoding="none", checkpoint="../../etc", beam="-3", rows="x")
    assert not app.exception and components(app)


def test_a_missing_or_damaged_checkpoint_is_reported_and_another_can_be_chosen(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    assert "There is no checkpoint" in open_page().error[0].value
    for name in ("a-broken", "b-whole"):
        shutil.copytree(ROOT / "checkpoints" / "en-de", tmp_path / name, ignore=shutil.ignore_patterns("resume"))
    weights = tmp_path / "a-broken" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    app = open_page()
    assert "damaged" in app.error[0].value
    app.selectbox(key="checkpoint_list").select("b-whole").run()
    assert not app.exception and not app.error and components(app)
