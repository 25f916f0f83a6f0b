"""Words hidden from the decoder: side by side, by interventions, and by a shorter memory."""

import pytest
import torch
from support.tolerance import near

from transformer.interpret.head_patterns import word_ranges, words_of
from transformer.interpret.what_if.hiding import hide, translate_without_each
from transformer.model.attention import causal_mask

SENTENCE = "I can't swim, and I don't want to learn it."


def test_words_and_runs_of_marks_are_ranges_and_special_tokens_are_in_none():
    tokens = ["<s>", "▁don", "'", "t", "▁go", "?", "!", "▁naï", "ve", "▁", "</s>", "▁x"]
    ranges = [(each.start, each.stop) for each in word_ranges(tokens)]
    assert ranges == [(1, 4), (4, 5), (5, 7), (7, 9), (9, 10), (11, 12)]
    for tokens in (["▁boys", "'", "▁x"], ["'", "t"], ["▁x", "'"], ["▁a", "-", "</s>"]):
        assert [len(each) for each in word_ranges(tokens)][:2] == [1, 1][: len(tokens)], "no letter on one side"
    assert words_of(["<s>", "▁don", "'", "t", "▁go", "?", "!", "</s>"]) == ["don't", "go", "?!"]
    assert word_ranges([]) == [] == words_of([])


def test_each_translation_is_that_of_decoding_under_the_interventions(shipped):
    trace = shipped.trace(SENTENCE)
    words, changed = word_ranges(trace.source_tokens), 0
    for word, hypothesis in zip(words, translate_without_each(shipped.model, trace.source_ids, words), strict=True):
        alone = shipped.trace(SENTENCE, interventions=hide(word))
        assert hypothesis.ids == alone.target_ids and hypothesis.log_probability == near(alone.log_probability)
        assert (alone.cross[..., list(word)] == 0).all()
        changed += hypothesis.ids != trace.target_ids
    assert changed


@torch.inference_mode()
def test_hiding_is_the_same_as_a_memory_without_these_vectors(translator):
    hidden, model = (1, 3), translator.model
    trace = translator.trace("big red dog.", target="rot Hund", interventions=hide(hidden))
    fed = torch.tensor([trace.decoder_input_ids])
    visible = [position for position in range(len(trace.source_ids)) if position not in hidden]
    memory = model.encode(torch.tensor([trace.source_ids]), None)[:, visible]
    logits = model.output_projection(model.decode(fed, memory, causal_mask(fed.shape[1]), None))[0]
    expected = logits.log_softmax(-1)[range(fed.shape[1]), list(trace.target_ids)]
    assert torch.tensor(trace.log_probabilities) == near(expected.double())


def test_unknown_positions_and_all_of_a_source_cannot_be_hidden(translator):
    source = [5, 6, 3]
    for positions in ([len(source)], [-1], range(len(source))):
        with pytest.raises(ValueError, match="cannot hide"):
            translate_without_each(translator.model, source, [positions])
    assert translate_without_each(translator.model, source, []) == []
