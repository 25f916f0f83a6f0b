"""The sentences on a translation and its maps, spelled out for a trace made by hand: every branch of each."""

import numpy as np
from support.made import made_map, made_trace

from headlight.views.translate.text import depth_words, describe_map, least_probable_token, strongest_reading
from transformer.decoding.output_statistics import OutputStatistics

USUAL = OutputStatistics("made pairs", tuple(np.linspace(-0.66, -0.1, 20)), (0.0,) * 19 + (0.5,))
SPLIT = ("▁no", "▁z", "y", "x", "▁no", ".", "</s>")


def test_the_least_probable_token_stands_with_the_best_other_one():
    assert (
        least_probable_token(made_trace()) == "Lowest-probability token: “▁Katze”, 25.0 %, rank 2; “▁Hund” got 70.0 %."
    )
    chosen = made_trace(next_probabilities=np.array([0.9, 0.95, 0.6]), next_tokens=("▁keine", "▁Katze", "</s>"))
    assert least_probable_token(chosen) == "Lowest-probability token: “</s>”, 60.0 %, top-1; “.” got 30.0 %."


def test_a_sentence_out_of_depth_is_told_by_its_output_and_by_its_words():
    assert depth_words(made_trace(), USUAL) == (
        "This sentence may be out of the model's depth. Beside the greedy translations of 20 sentences (made "
        "pairs): the mean log-probability of its output tokens is −0.67, and lower in none of them. Read the maps "
        "with that in mind."
    )
    unsure = made_trace(next_probabilities=np.array([0.1, 0.2, 0.3]), source_tokens=SPLIT)
    assert depth_words(unsure, USUAL) == (
        "This sentence may be out of the model's depth. Beside the greedy translations of 20 sentences (made "
        "pairs): the mean log-probability of its output tokens is −1.71, and lower in none of them; 1 of its 3 "
        "words is split into 3 tokens or more (33 %; there 2 % on average). Read the maps with that in mind."
    )
    assert depth_words(unsure, USUAL, drawn=True) == (
        "This sentence may be out of the model's depth. Beside the greedy translations of 20 sentences (made "
        "pairs): 1 of its 3 words is split into 3 tokens or more (33 %; there 2 % on average). Read the maps with "
        "that in mind."
    )
    twice = made_trace(source_tokens=("▁z", "y", "x", "▁no", "▁z", "y", "x", "</s>"))
    assert depth_words(twice, USUAL, drawn=True) == (
        "This sentence may be out of the model's depth. Beside the greedy translations of 20 sentences (made "
        "pairs): 2 of its 3 words are split into 3 tokens or more (67 %; there 2 % on average). Read the maps "
        "with that in mind."
    )


def test_nothing_is_said_of_a_sentence_like_most_or_without_a_measurement():
    sure = made_trace(next_probabilities=np.array([0.9, 0.9, 0.9]))
    assert depth_words(sure, USUAL) == "" and depth_words(made_trace(source_tokens=SPLIT), None) == ""
    assert depth_words(made_trace(), USUAL, drawn=True) == ""
    nothing_split = OutputStatistics("made pairs", USUAL.mean_log_probabilities, (0.1,) * 20)
    assert depth_words(made_trace(source_tokens=("</s>",)), nothing_split, drawn=True) == ""


def test_one_in_twenty_is_still_rare():
    said = depth_words(made_trace(next_probabilities=np.exp([-0.65] * 3)), USUAL)
    assert "its output tokens is −0.65, and lower in 5 % of them. Read" in said
    assert depth_words(made_trace(next_probabilities=np.exp([-0.62] * 3)), USUAL) == ""


def test_split_words_that_are_usual_are_not_told():
    often = OutputStatistics("made pairs", USUAL.mean_log_probabilities, (0.25,) * 18 + (0.5,) * 2)
    assert depth_words(made_trace(source_tokens=SPLIT), often, drawn=True) == ""


def test_one_sentence_and_one_word_are_one():
    one = OutputStatistics("made pairs", (-0.1,), (0.5,))
    trace = made_trace(source_tokens=("▁z", "y", "x", "</s>"))
    assert depth_words(trace, one) == (
        "This sentence may be out of the model's depth. Beside the greedy translations of 1 sentence (made "
        "pairs): the mean log-probability of its output tokens is −0.67, and lower in none of them; 1 of its 1 "
        "word is split into 3 tokens or more (100 %; there 50 % on average). Read the maps with that in mind."
    )


WORDS = [[0.1, 0.5, 0.2, 0.1, 0.1], [0.1, 0.1, 0.3, 0.4, 0.1], [0.0, 0.9, 0.0, 0.1, 0.0]]


def test_the_strongest_reading_is_between_two_words():
    assert strongest_reading(made_map(WORDS)) == (
        "In the map of layer 2, head 1, the row that predicts “▁keine” attends to “▁cat” with weight 0.50, the "
        "largest weight between two words."
    )
    assert strongest_reading(made_map(WORDS, head=None)) == (
        "In the average over the 8 heads of layer 2, the row that predicts “▁keine” attends to “▁cat” with weight "
        "0.50, the largest weight between two words."
    )
    assert strongest_reading(made_map(WORDS[1:2] * 3, layer=None)) == (
        "In the average over head 1 of all 3 layers, the row that predicts “▁keine” attends to “▁no” (position 3) "
        "with weight 0.30, the largest weight between two words."
    )


def test_between_special_tokens_there_is_no_reading():
    assert strongest_reading(made_map([[0, 0, 0, 0.5, 0.5]] * 2 + [[1.0, 0, 0, 0, 0]])) == ""


def test_a_map_is_told_by_its_pattern_or_by_how_even_it_is():
    on_end = [[0.1, 0.1, 0.0, 0.0, 0.8], [0.2, 0.1, 0.0, 0.0, 0.7], [0.3, 0.1, 0.0, 0.0, 0.6]]
    assert describe_map(made_map(on_end)) == (
        "Layer 2, head 1: in 3 of the 3 rows that could (100 %) the largest weight is on the end of sentence "
        "</s>; a row's largest weight is 0.70 on average."
    )
    assert describe_map(made_map([[0.5, 0.5, 0, 0, 0], [0.25, 0.25, 0.25, 0.25, 0], [1, 0, 0, 0, 0]], head=None)) == (
        "Average over the 8 heads of layer 2 follows no single pattern here: a row's largest weight is 0.58 on "
        "average (1 would be a single token), its entropy that of 2.0 equal weights."
    )


def test_two_rows_are_too_few_for_a_pattern():
    assert describe_map(made_map(WORDS[:2], layer=None)).startswith(
        "Average over head 1 of all 3 layers: the sentence is"
    )
    assert describe_map(made_map(WORDS[:2])) == "Layer 2, head 1: the sentence is too short to find a pattern."
