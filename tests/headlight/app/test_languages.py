"""The language of a text by its function words."""

import pytest

from headlight.app.languages import other_language
from transformer.files import shipped_checkpoints


@pytest.mark.parametrize(
    ("text", "guess"),
    [
        ("Ich liebe meine Lehrerin.", "German"),
        ("J’aime mon professeur.", "French"),
        ("Me gusta mi profesor.", "Spanish"),
        ("Amo la mia insegnante.", "Italian"),
        ("Guten Tag", None),
        ("Angela Merkel", None),
        ("La La Land", None),
        ("The war will die in a car.", None),
        ("asdf qwer", None),
        ("東京は大きい", None),
        ("", None),
    ],
)
def test_a_text_is_of_another_language_by_its_function_words(text, guess):
    assert other_language(text, "English") == guess


def test_the_language_that_is_read_is_not_noticed_and_may_be_a_code():
    assert other_language("Ich liebe meine Lehrerin.", "deu") is None
    assert other_language("I love my teacher.", "de") == "English"
    assert other_language("Ich liebe meine Lehrerin.", "Text") is None, "a toy reads letters"


@pytest.mark.parametrize(("pair", "language"), [("en-de", "German"), ("en-fr", "French")])
def test_sentences_of_a_corpus_are_told_apart(pair, language):
    lines = (shipped_checkpoints() / pair / "samples.tsv").read_text(encoding="utf-8").splitlines()
    english, foreign = zip(*(line.split("\t")[:2] for line in lines), strict=True)
    assert sum(other_language(text, "English") is not None for text in english) <= 0.002 * len(english)
    long = [text for text in foreign if len(text.split()) >= 4]
    assert sum(other_language(text, "English") == language for text in long) > 0.9 * len(long)
