"""Words hidden from the decoder: side by side, and by interventions."""

import pytest
from support.models import mark_end, random_sources, unlike_model
from support.tolerance import near

from transformer.decoding.sampling import Greedy, decode
from transformer.interpret.head_patterns import word_ranges, words_of
from transformer.interpret.what_if.hiding import hide, translate_without_each
from transformer.interpret.what_if.running import apply_interventions


def test_words_and_runs_of_marks_are_ranges_and_special_tokens_are_in_none():
    tokens = ["<s>", "▁don", "'", "t", "▁go", "?", "!", "▁naï", "ve", "▁", "</s>", "▁x"]
    ranges = [(each.start, each.stop) for each in word_ranges(tokens)]
    assert ranges == [(1, 4), (4, 5), (5, 7), (7, 9), (9, 10), (11, 12)]
    for tokens in (["▁boys", "'", "▁x"], ["'", "t"], ["▁x", "'"], ["▁a", "-", "</s>"]):
        assert [len(each) for each in word_ranges(tokens)][:2] == [1, 1][: len(tokens)], "no letter on one side"
    assert words_of(["<s>", "▁don", "'", "t", "▁go", "?", "!", "</s>"]) == ["don't", "go", "?!"]
    assert word_ranges([]) == [] == words_of([])


def test_each_translation_is_that_of_decoding_under_the_interventions():
    model, (source,) = mark_end(unlike_model(), 1.5), random_sources(7)
    words, plain = [range(2), range(2, 3), range(3, 6)], decode(model, [source], Greedy())[0]
    for word, hypothesis in zip(words, translate_without_each(model, source, words), strict=True):
        with apply_interventions(model, hide(word)):
            alone = decode(model, [source], Greedy())[0]
        assert hypothesis.ids == alone.ids and hypothesis.log_probability == near(alone.log_probability)
        assert list(map(str, hide(word))) == [f"forbid:cross.*.*:{position}" for position in word]
        assert abs(hypothesis.log_probability - plain.log_probability) > 1e-3


def test_unknown_positions_and_all_of_a_source_cannot_be_hidden(translator):
    source = [5, 6, 3]
    for positions in ([len(source)], [-1], range(len(source))):
        with pytest.raises(ValueError, match="cannot hide"):
            translate_without_each(translator.model, source, [positions])
    assert translate_without_each(translator.model, source, []) == []
