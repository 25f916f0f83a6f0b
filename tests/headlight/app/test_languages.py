"""The language of a text by its function words."""

import json

import pytest
from support.server import ROOT

from headlight.app.languages import other_language
from transformer.files import shipped_checkpoints

# Shared with tests/javascript/lib.test.js.
GUESSES = json.loads((ROOT / "tests" / "language_guesses.json").read_text(encoding="utf-8"))


def test_a_text_is_of_another_language_by_its_function_words_and_the_language_read_may_be_a_code():
    for guess, texts in GUESSES.items():
        assert [other_language(text, "English") for text in texts] == [guess or None] * len(texts)
    for language, guess in (("deu", None), ("fr", "German"), ("Text", None)):
        assert other_language("Ich liebe meine Lehrerin.", language) == guess


@pytest.mark.parametrize(("pair", "language"), [("en-de", "German"), ("en-fr", "French")])
def test_sentences_of_a_corpus_are_told_apart(pair, language):
    lines = (shipped_checkpoints() / pair / "samples.tsv").read_text(encoding="utf-8").splitlines()
    english, foreign = zip(*(line.split("\t")[:2] for line in lines), strict=True)
    assert sum(other_language(text, "English") is not None for text in english) <= 0.002 * len(english)
    long = [text for text in foreign if len(text.split()) >= 4]
    assert sum(other_language(text, "English") == language for text in long) > 0.9 * len(long)
