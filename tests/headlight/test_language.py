"""The language of the interface: numbers, quotations, and texts by file."""

import pytest

from headlight import language
from headlight.app.finding import Templates
from headlight.plots.numbers import format_probability, percent, pluralize, scientific, signed, two_digits
from headlight.plots.tokens import in_words, quoted_at


@pytest.fixture
def spoken(monkeypatch):
    """Set the language of the interface."""
    monkeypatch.setattr(language, "_chosen", [])
    return lambda name: language.choose_language(lambda: name)


@pytest.mark.parametrize(
    ("name", "numbers", "quotation"),
    [
        ("en", "−1,234.50 8,000 heads .59 6.99·10⁻⁴ > 99.9 % under 1 %", "“my”, then “⟨end⟩” (step 2)."),
        ("de", "−1234,50 8.000 heads ,59 6,99·10⁻⁴ > 99,9 % unter 1 %", "„my“, then „⟨Ende⟩“ (Schritt 2)."),
        ("fr", "−1234,50 8 000 heads ,59 6,99·10⁻⁴ > 99,9 % moins de 1 %", "« my », then « ⟨fin⟩ » (étape 2)."),
    ],
)
def test_numbers_and_quotations_follow_the_language(spoken, name, numbers, quotation):
    spoken(name)
    written = signed(-1234.5, 2), pluralize(8000, "head"), two_digits(0.59), scientific(0.000699)
    written += format_probability(0.9999), percent(0.001)
    expected = numbers.replace("8 000", "8\u202f000").replace("1,234", "1234")
    assert " ".join(written).replace("\u00a0", " ") == expected and ("\u00a0%" in written[-1]) == (name != "en")
    words = in_words(f"“▁my”, then {quoted_at(('</s>', '</s>'), 1, 'step')}.").replace("\u00a0", " ")
    assert words == in_words(words).replace("\u00a0", " ") == quotation


def test_a_language_has_its_name_in_the_language_of_the_interface(spoken):
    spoken("fr")
    assert [language.name_of_language(name) for name in ("German", "Text")] == ["allemand", "Text"]


def test_a_text_without_a_translation_is_shown_in_english(spoken, tmp_path):
    (tmp_path / "texts.toml").write_text(
        '[view.headlines]\na = "A {n:signed 1}."\nb = "B."\n[[step]]\nsay = "One."\nat = "1"\n[[step]]\nsay = "Two."'
    )
    (tmp_path / "texts.de.toml").write_text('[view.headlines]\na = "Ein {n:signed 1}."\n[[step]]\nsay = "Eins."')
    templates = Templates.beside(str(tmp_path / "view.py"))
    for name, headline, steps in (
        ("en", "A 0.5.", [{"say": "One.", "at": "1"}, {"say": "Two."}]),
        ("de", "Ein 0,5.", [{"say": "Eins.", "at": "1"}, {"say": "Two."}]),
        ("fr", "A 0,5.", [{"say": "One.", "at": "1"}, {"say": "Two."}]),
    ):
        spoken(name)
        assert templates("a", n=0.5).headline == headline and templates("b").headline == "B."
        assert language.texts_of(tmp_path / "texts.toml")["step"] == steps
