"""Tokens, heads and numbers as text: each function at its borders."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headlight.plots.numbers import factor, format_error, format_probability, percent, scientific
from headlight.plots.tokens import chip_text, in_words, quoted_at, shown_token, shown_tokens, token_label
from transformer.interpret.head_patterns import word_ranges

TESTS = Path(__file__).parents[2]
CASES = json.loads((TESTS / "shown_tokens.json").read_text(encoding="utf-8"))  # of tests/javascript/tokens.test.js, too


@pytest.mark.parametrize(
    ("write", "values"),
    [
        (scientific, {0: "0", 0.000699: "6.99·10⁻⁴", 1.0: "1.00·10⁰", 1234567: "1.23·10⁶", 2e-13: "2.00·10⁻¹³"}),
        (format_error, {0.0: "0", 5.96e-8: "6·10⁻⁸", 1e-6: "1·10⁻⁶"}),
        (factor, {0.5: "0.5", -0.26: "(−0.3)", -0.01: "0.0"}),
        (lambda at: quoted_at(("▁no", "▁cat", "▁no"), at), {1: "“▁cat”", 2: "“▁no” (position 3)"}),
        (lambda noun: quoted_at(("▁no", "▁no"), 1, noun), {"query": "“▁no” (query 2)"}),
        (token_label, {"<b>\"&'": "&lt;b&gt;\"&amp;'"}),
    ],
)
def test_texts_at_their_borders(write, values):
    assert {value: write(value) for value in values} == values


@given(st.floats(0, 1))
def test_a_probability_is_never_rounded_to_all_or_nothing(probability):
    text = format_probability(probability)
    number = float(text.strip("<> %"))
    assert 0 < number < 100
    assert text[0] in "<>" or abs(number - 100 * probability) <= 0.5 * 10.0 ** -len(text[:-2].partition(".")[2]) + 1e-9
    assert (percent(probability) in ("0 %", "100 %")) == (probability in (0, 1))


@pytest.mark.parametrize("case", CASES, ids=[case["what"] for case in CASES])
def test_tokens_look_like_words(case):
    tokens = case["tokens"]
    assert shown_tokens(tokens) == case["together"]
    assert not any("▁" in text for text in case["together"])
    if "chips" in case:
        assert list(map(chip_text, tokens)) == case["chips"]
        assert list(map(shown_token, tokens)) == case["alone"]
        assert [[each.start, each.stop] for each in word_ranges(tokens)] == case["words"]


def test_a_sentence_that_names_tokens_reads_without_their_marks():
    for written, shown in json.loads((TESTS / "sentences_in_words.json").read_text(encoding="utf-8")):
        assert in_words(written) == shown
