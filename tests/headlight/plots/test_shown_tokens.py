"""How tokens are shown, by the same list as in the browser (tests/javascript/tokens.test.js)."""

import json
from pathlib import Path

import pytest

from headlight.plots.tokens import chip_text, in_words, shown_token, shown_tokens
from transformer.interpret.head_patterns import word_ranges

SENTENCES = Path(__file__).parents[2] / "sentences_in_words.json"
CASES = json.loads((Path(__file__).parents[2] / "shown_tokens.json").read_text(encoding="utf-8"))


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
    for written, shown in json.loads(SENTENCES.read_text(encoding="utf-8")):
        assert in_words(written) == shown
