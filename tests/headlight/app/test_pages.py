"""Every page through Streamlit's own test runner, with the shipped checkpoint: what it shows, and what it refuses."""

import shutil

import pytest
from support.pages import PAGES, ROOT, components, open_page, page_text

from headlight.app import results
from headlight.app.bar import EXAMPLES
from transformer import Sampling


@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_with_a_sentence_and_its_translation(page, shipped):
    app = open_page(page)
    sentence = next(iter(EXAMPLES))
    assert app.text_input(key="text").value == sentence
    assert shipped.translate([sentence])[0] in page_text(app)
    assert components(app)


@pytest.mark.parametrize("sentence", EXAMPLES)
def test_every_example_translates(sentence, shipped):
    app = open_page(text=sentence)
    assert shipped.translate([sentence])[0] in page_text(app)


def test_the_example_of_a_clause_within_a_clause_has_its_verb_last_in_german_alone(shipped):
    (sentence,) = [text for text, why in EXAMPLES.items() if "where does the second verb go?" in why]
    (translation,) = shipped.translate([sentence])
    _, _, clause = sentence.rstrip(".").partition(" that ")
    _, _, translated = translation.rstrip(".").partition(", dass ")
    assert clause.split()[1] == "has" and translated.split()[-1] == "hat"


def test_choosing_an_example_puts_it_into_the_box(shipped):
    app = open_page()
    second = list(EXAMPLES)[1]
    (menu,) = app.get("menu_button")
    menu.click(second).run()
    assert app.text_input(key="text").value == second
    assert shipped.translate([second])[0] in page_text(app)


def test_a_typed_sentence_is_translated(shipped):
    app = open_page()
    app.text_input(key="text").input("Where is my cat?").run()
    assert shipped.translate(["Where is my cat?"])[0] in page_text(app)


def test_beam_and_sampling_show_their_options_and_translate(shipped):
    app = open_page(decoding="beam", beam="3")
    assert shipped.translate([next(iter(EXAMPLES))], beam=3)[0] in page_text(app)
    app = open_page(decoding="sampling", temperature="0.5", seed="7")
    assert {slider.label for slider in app.slider} == {"Temperature", "Top-k"}


@pytest.mark.parametrize(
    "value, seed", [("7", 7), ("inf", 1), ("nan", 1), ("-3", 1), ("1e400", 1), ("9" * 5000, 1), ("<b>", 1)]
)
def test_a_seed_that_makes_no_sense_in_the_url_falls_back(shipped, value, seed):
    app = open_page(decoding="sampling", temperature="0.5", seed=value)
    assert not app.warning and not app.exception
    expected = shipped.translate([next(iter(EXAMPLES))], strategy=Sampling(temperature=0.5, seed=seed))
    assert expected[0] in page_text(app)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    "text, message",
    [
        ("", "is empty"),
        ("   \n\t ", "is empty"),
        ("\u200b", "is empty"),
        ("word " * 500, "at most 127"),
        ("x" * 100_000, "at most 127"),
        ("Привет, мир", "never seen"),
        ("I love 🍕.", "🍕"),
    ],
)
def test_what_cannot_be_translated_gets_a_friendly_message(page, text, message):
    app = open_page(page)
    app.text_input(key="text").input(text).run()
    assert not app.exception
    assert any(message in warning.value.replace("\\", "") for warning in app.warning)
    assert app.text_input(key="text").value == text, "what was typed stays"


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "**bold** [link](http://x.y) $x^2$ :red[no]", "a & b < c > d", "\x00", "%{z}"]
)
def test_markup_is_text_and_nothing_else(text):
    app = open_page()
    app.text_input(key="text").input(text).run()
    assert not app.exception
    for element in app.markdown:
        assert "<script" not in element.value.replace("\\<", "")


def test_bad_values_in_the_url_fall_back():
    app = open_page(head="cross.99.evil", decoding="none", checkpoint="../../etc", beam="-3", rows="x")
    assert not app.exception
    assert components(app)


def test_without_a_checkpoint_the_page_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    app = open_page()
    assert "There is no checkpoint" in app.error[0].value


def test_a_broken_checkpoint_is_reported_and_another_can_be_chosen(tmp_path, monkeypatch):
    for name in ("a-broken", "b-whole"):
        shutil.copytree(ROOT / "checkpoints" / "en-de", tmp_path / name, ignore=shutil.ignore_patterns("resume"))
    weights = tmp_path / "a-broken" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    app = open_page()
    assert "damaged" in app.error[0].value
    app.selectbox(key="checkpoint_list").select("b-whole").run()
    assert not app.exception and not app.error
    assert components(app)
