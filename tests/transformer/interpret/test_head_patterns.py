"""Heads of known kind get their label, others none."""

import numpy as np
import pytest

from transformer.interpret.head_patterns import (
    aligned_keys,
    is_punctuation,
    measure_head,
    measure_heads,
    most_confident_head,
    strongest_word_pair,
)

TOKENS = ("▁I", "▁love", "▁my", "▁old", "▁teacher", ".", "</s>")


def looking(columns, size=7, weight=0.9) -> np.ndarray:
    """A map whose row i has `weight` on columns[i], the rest spread evenly."""
    weights = np.full((len(columns), size), (1 - weight) / (size - 1))
    weights[range(len(columns)), columns] = weight
    return weights


def label_of(kind: str, weights: np.ndarray) -> str | None:
    return measure_heads(kind, weights[None, None], TOKENS)[0].label


@pytest.mark.parametrize(
    "label, columns",
    [
        ("previous", [0, 0, 1, 2, 3, 4, 5]),
        ("same", range(7)),
        ("next", [1, 2, 3, 4, 5, 6, 0]),
        ("mirrored", [6, 5, 4, 3, 2, 1, 0]),
        ("end of sentence", [6] * 7),
        ("punctuation", [5] * 7),
        (None, [3, 0, 5, 1, 6, 2, 2]),
    ],
)
def test_a_map_of_known_kind_gets_its_label_and_another_none(label, columns):
    assert label_of("encoder", looking(list(columns))) == label


def test_a_row_with_two_equal_maxima_has_no_place_and_its_head_no_label():
    weights = looking([5] * 7)
    assert label_of("encoder", weights) == "punctuation"
    weights[3, 2] = weights[3, 5]
    assert label_of("encoder", weights) is None
    (head,) = measure_heads("encoder", weights[None, None], TOKENS)
    assert head.tied and head.shares["punctuation"] == pytest.approx(6 / 7)  # the first of both is taken
    assert not measure_heads("encoder", looking([5] * 7)[None, None], TOKENS)[0].tied


def test_a_decoder_head_that_rests_on_the_beginning_is_called_that():
    weights = looking([0] * 7)
    weights[np.triu_indices(7, 1)] = np.nan
    (head,) = measure_heads("decoder", weights[None, None], ("<s>", *TOKENS[:-1]))
    assert head.label == "beginning of sentence"
    assert np.isnan(head.shares["end of sentence"]), "no decoder row can read it"


@pytest.mark.parametrize(
    "token, expected",
    [
        (".", True),
        ("...", True),
        ("▁“", True),
        ("▁", False),
        ("a.", False),
        ("</s>", False),
        ("'", True),
        ("", False),
    ],
)
def test_punctuation_is_marks_and_nothing_else(token, expected):
    assert is_punctuation(token) == expected


def test_an_even_map_has_no_label_and_the_largest_entropy():
    (head,) = measure_heads("encoder", np.full((1, 1, 7, 7), 1 / 7), TOKENS)
    assert head.entropy == pytest.approx(np.log(7)) and head.confidence == pytest.approx(1 / 7)


def test_masked_cells_are_left_out_of_a_decoder_head():
    weights = looking([0, 0, 1, 2, 3, 4, 5])
    weights[np.triu_indices(7, 1)] = np.nan
    (head,) = measure_heads("decoder", weights[None, None], TOKENS)
    assert head.label == "previous" and np.isnan(head.shares["next"]) and np.isnan(head.shares["mirrored"])


OUTPUTS = ("▁Ich", "▁liebe", "▁meinen", "▁alten", "▁Lehrer", ".", "</s>")


def test_cross_attention_has_no_offsets_but_two_alignments():
    """Three heads agree on the output token's source word; another is a row late: it follows the input token."""
    aligned, late, other = looking([0, 1, 2, 2, 4, 5, 6]), looking([3, 0, 1, 2, 2, 4, 6]), looking([6] * 7)
    maps = np.stack([aligned, late, other, aligned, aligned])[None]
    first, second, third, *_ = measure_heads("cross", maps, TOKENS, OUTPUTS)
    assert first.label == "alignment" and first.shares["alignment"] == 1 and np.isnan(first.shares["same"])
    assert second.label == "input alignment" and second.shares["alignment"] < 0.3
    assert third.label == "end of sentence" and third.shares["alignment"] == third.shares["input alignment"] == 0
    # Of seven rows five predict a word and five are fed one: full stop and end of sentence are left out.
    assert first.counts["alignment"].eligible == second.counts["input alignment"].eligible == 5


def test_what_special_tokens_and_punctuation_do_is_no_alignment():
    maps = np.stack([looking([0, 1, 2, 2, 4, 0, 0])] * 3)[None]  # wrong in both rows that predict no word
    assert [head.shares["alignment"] for head in measure_heads("cross", maps, TOKENS, OUTPUTS)] == [1, 1, 1]
    assert list(aligned_keys(maps, TOKENS, OUTPUTS)) == [0, 1, 2, 2, 4, -1, -1]
    resting = np.stack([looking([6] * 7)] * 3)[None]  # all rest on </s>: no word is agreed on by the largest weight
    assert all(head.shares["alignment"] == 0 for head in measure_heads("cross", resting, TOKENS, OUTPUTS))
    assert list(aligned_keys(maps[..., :2], (".", "</s>"), OUTPUTS)) == [-1] * 7
    with pytest.raises(ValueError, match="outputs"):
        aligned_keys(maps, TOKENS, OUTPUTS[1:])


def test_too_few_rows_make_no_pattern():
    short = looking([0, 1], 2)
    (head,) = measure_heads("encoder", short[None, None], TOKENS[:2])
    assert head.label is None and np.isnan(head.shares["mirrored"])
    with pytest.raises(ValueError, match="keys"):
        measure_heads("encoder", short[None, None], TOKENS)


def test_one_cross_attention_map_alone_has_no_alignment_with_itself():
    (head,) = measure_heads("cross", looking([0, 1, 2, 2, 4, 5, 6])[None, None], TOKENS, OUTPUTS)
    assert measure_head("cross", looking([0, 1, 2, 2, 4, 5, 6]), TOKENS).label is None
    assert head.label is None and np.isnan(head.shares["alignment"])


def test_the_most_confident_head_has_the_largest_weights_but_those_on_the_end():
    keys = ("▁I", "▁read", ".", "</s>")
    maps = np.zeros((2, 3, 3, 4))
    maps[..., 3] = 1.0
    maps[1, 0, :, 0] = 0.5
    assert most_confident_head(maps, keys) == (1, 0)
    causal = np.where(np.tri(3, dtype=bool), np.zeros((1, 2, 3, 3)), np.nan)
    causal[0, 0][np.tri(3, dtype=bool)] = (1, 0.5, 0.5, 1 / 3, 1 / 3, 1 / 3)
    causal[0, 1][np.tri(3, dtype=bool)] = (1, 0, 1, 0, 0, 1)
    assert most_confident_head(causal, ("<s>", "▁Ich", "▁lese")) == (0, 1)


def test_the_strongest_pair_of_words_is_the_largest_weight_that_no_mark_or_special_token_has():
    keys, outputs = ("▁no", ".", "▁cat", "</s>"), ("▁keine", "▁Katze", "</s>")
    weights = np.random.default_rng(3).random((3, 4)) / 2
    weights[0, 1], weights[1, 3], weights[2, 2] = 0.9, 0.8, 0.7
    pairs = [(row, column) for row in (0, 1) for column in (0, 2)]
    assert strongest_word_pair(weights, keys, outputs) == max(pairs, key=weights.__getitem__)
    assert strongest_word_pair(weights, keys) == (2, 2), "rows without outputs are all compared"
    assert strongest_word_pair(weights * [0, 1, 0, 1], keys, outputs) is None
