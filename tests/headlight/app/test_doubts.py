"""What is said before a translation is trusted: that the text is of another language, or beyond the model."""

import numpy as np
import pytest
from support.pages import open_page

from headlight.app.doubts import describe_depth, describe_language, language_of
from transformer.decoding.output_statistics import load_outputs
from transformer.files import shipped_checkpoints


def pairs(name: str) -> list[list[str]]:
    lines = (shipped_checkpoints() / name / "samples.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines]


@pytest.mark.parametrize("name, language", [("en-de", "German"), ("en-fr", "French")])
def test_no_english_sentence_is_taken_for_another_language_and_most_others_are_known(name, language):
    english, other = zip(*pairs(name), strict=True)
    assert [text for text in english if describe_language(text, "English")] == []
    found = [language_of(text) for text in other]
    assert found.count(language) > 0.75 * len(other)
    assert sum(each not in (language, None) for each in found) < 0.01 * len(other)


def test_a_text_that_says_nothing_of_its_language_is_left_alone():
    for text in ("", "asdf", "Tom", "1 + 1 = 2", "Привет, мир", "naïve café", "I love Die Hard.", "<b>der</b>"):
        assert describe_language(text, "English") is None
    assert describe_language("Ich liebe dich.", "Text") is None, (
        "a model that reads no language of these is not doubted"
    )
    assert str(describe_language("Ich liebe dich.", "English")) == "This looks like German; the model reads English."
    assert "looks like English" in str(describe_language("I love my teacher and he is old.", "German"))


def test_a_doubt_of_depth_counts_beside_the_corpus(shipped):
    usual = load_outputs(shipped_checkpoints() / "en-de" / "outputs.json")
    shown = 0
    for text in ("I love my teacher.", "Quantum chromodynamics baffles xylophonists.", "Where is my cat?"):
        trace = shipped.trace(text)
        said = describe_depth(trace, usual)
        mean = np.log(trace.target_probabilities.astype(np.float64)).mean()
        lower = np.mean(np.array(usual.mean_log_probabilities) < mean)
        assert ("the mean log-probability" in str(said)) == (lower <= 0.05)
        assert "log-prob" not in str(describe_depth(trace, usual, drawn=True)) and describe_depth(trace, None) is None
        shown += bool(said)
    assert shown == 1


@pytest.mark.parametrize("page", ["home", "translate", "decoding"])
def test_a_page_says_it_under_the_translation(page):
    app = open_page(f"pages/{page}.py", text="Ich liebe meinen Lehrer, und er ist nicht alt.")
    (said,) = [each.proto.body for each in app.get("html") if "looks like" in each.proto.body]
    assert "This looks like German; the model reads English." in said
