"""The sentences on a decoding, spelled out for a trace and searches made by hand: every branch of each."""

import numpy as np
import pytest
from support.made import made_map, made_trace

from headlight.views.decoding.text import (
    entropy_words,
    hardest_step,
    may_take,
    runner_up,
    search_sentence,
    step_sentence,
)
from transformer.decoding.beam import Beam, SearchRecord
from transformer.decoding.sampling import Hypothesis

WORDS = {1: "ein", 2: "zwei", 3: "drei", 9: ""}


def text(ids: list[int]) -> str:
    return " ".join(WORDS[id] for id in ids if WORDS[id])


def hypothesis(*ids: int, log_probability: float = -2.0) -> Hypothesis:
    return Hypothesis((*ids, 9), log_probability, log_probability, True)


GREEDY = hypothesis(1, 2)


def test_the_hardest_step_is_that_of_the_highest_entropy_with_what_to_try_there():
    assert hardest_step(made_trace()) == (
        "Step 3 of 3 has the highest entropy: perplexity 4.5. “</s>” got 60.0 %, “.” 30.0 %. Go there, force “.” "
        "instead, and see how the rest changes."
    )
    first = made_trace(entropies=np.array([1.5, 0.75, 0.5]), finished=False)
    assert hardest_step(first) == (
        "Step 1 of 3 has the highest entropy: perplexity 4.5. “▁keine” got 90.0 %, “▁nicht” 5.0 %. Go there, "
        "force “▁nicht” instead, and see how the rest changes."
    )


def test_where_no_room_is_left_after_it_nothing_is_to_be_tried():
    assert hardest_step(made_trace(finished=False)) == (
        "Step 3 of 3 has the highest entropy: perplexity 4.5. “</s>” got 60.0 %, “.” 30.0 %."
    )


def test_a_token_may_be_taken_where_another_may_follow():
    assert all(may_take(made_trace(), step) for step in range(3))
    assert [may_take(made_trace(finished=False), step) for step in range(3)] == [True, True, False]


CROSS = [[0.1, 0.5, 0.2, 0.1, 0.1], [0.1, 0.1, 0.3, 0.4, 0.1], [0.0, 0.1, 0.0, 0.1, 0.8]]
DECODER = [[1.0, np.nan, np.nan], [0.3, 0.7, np.nan], [0.2, 0.5, 0.3]]


def test_a_step_is_told_by_its_tokens_and_by_what_the_maps_attend_to_most():
    cross, decoder = made_map(CROSS), made_map(DECODER, "decoder")
    assert step_sentence(made_trace(), 0, cross, decoder) == (
        "With input “<s>” the model gives “▁keine” 90.0 %: the most probable token; it is chosen. Layer 2, head 1 "
        "attends most to “▁cat” (0.50) of the source and to “<s>” (1.00) of the prefix."
    )
    average = made_map(CROSS, head=None)
    assert step_sentence(made_trace(), 1, average, decoder, forced=True) == (
        "With input “▁keine” the model gives “▁Katze” 25.0 %: rank 2; you forced it. The average over the 8 heads "
        "of layer 2 attends most to “.” (0.40) of the source and to “▁keine” (0.70) of the prefix."
    )


def test_an_average_over_layers_is_named():
    average = made_map(CROSS, layer=None)
    said = step_sentence(made_trace(), 1, average, made_map(DECODER, "decoder"))
    assert "The average over head 1 of all 3 layers attends most to “.” (0.40)" in said


def test_an_entropy_has_its_perplexity():
    assert [entropy_words(value) for value in (1.5, 0.0, -0.0)] == [
        "1.50 nats, perplexity 4.5",
        "0.00 nats, perplexity 1.0",
        "0.00 nats, perplexity 1.0",
    ]


def test_the_same_translation_is_told_with_how_many_it_ranks_above():
    others = hypothesis(1, log_probability=-3.0), hypothesis(3, log_probability=-4.0)
    for ended, said in (
        ((GREEDY,), "Greedy decoding finds the same translation here. Try a longer sentence."),
        (
            (GREEDY, others[0]),
            "Greedy decoding finds the same translation here, ranked above 1 other. Try a longer sentence.",
        ),
        (
            (GREEDY, *others, hypothesis(2)),
            "Greedy decoding finds the same translation here, ranked above 2 others. Try a longer sentence.",
        ),
    ):
        assert search_sentence(SearchRecord(ended, (), ()), GREEDY, Beam(size=3), text) == said


def test_a_likelier_translation_is_told_with_both_probabilities():
    found = SearchRecord((hypothesis(1, 3, log_probability=-1.5),), (), ())
    assert search_sentence(found, GREEDY, Beam(), text) == (
        "Greedy decoding writes “ein zwei”; beam search found a likelier one: log P −1.50 against −2.00. Step "
        "through both, and see where they differ."
    )
    found = SearchRecord((hypothesis(1, 3, log_probability=-1.9996),), (), ())
    assert search_sentence(found, GREEDY, Beam(), text) == (
        "Greedy decoding writes “ein zwei”; beam search found a likelier one: log P −1.9996 against −2.0000. Step "
        "through both, and see where they differ."
    )


BEST = hypothesis(1, log_probability=-2.5)


def test_what_the_length_penalty_ranks_lower_is_told_with_its_place():
    found = SearchRecord((BEST, GREEDY), (), ())
    assert search_sentence(found, GREEDY, Beam(size=2, alpha=0.6), text) == (
        "Greedy decoding writes “ein zwei”, which is likelier (log P −2.00 against −2.50). The length penalty "
        "(alpha 0.6) ranks it number 2. Try alpha 0."
    )


def test_of_two_that_are_equally_likely_none_is_called_likelier():
    found = SearchRecord((hypothesis(3, log_probability=-2.0), GREEDY), (), ())
    assert search_sentence(found, GREEDY, Beam(size=2, alpha=0.6), text).startswith(
        "Greedy decoding writes “ein zwei”, which is as likely (log P −2.00). The length penalty"
    )


def test_what_ended_below_the_shown_ones_is_told_with_its_rank():
    found = SearchRecord((BEST, hypothesis(3), GREEDY), (), ())
    assert search_sentence(found, GREEDY, Beam(size=2, alpha=0.6), text) == (
        "Greedy decoding writes “ein zwei”, which is likelier (log P −2.00 against −2.50). It ended in the search "
        "as well, at rank 3, below the 2 shown. Try a wider beam."
    )


def test_what_fell_out_of_the_beam_is_told_with_its_step():
    found = SearchRecord((BEST,), (((1,), (3,)), ((3, 1), (3, 3))), ())
    assert search_sentence(found, GREEDY, Beam(size=2), text) == (
        "Greedy decoding writes “ein zwei”, which is likelier (log P −2.00 against −2.50). It fell out of the "
        "beam at step 2 of 3, where the beam's 2 best continuations were all likelier. Try a wider beam."
    )


def test_what_was_still_in_the_beam_is_told_with_the_penalty():
    found = SearchRecord((BEST,), (((1,), (3,)), ((3, 1), (1, 2))), ())
    assert search_sentence(found, GREEDY, Beam(size=2, alpha=1.5), text) == (
        "Greedy decoding writes “ein zwei”, which is likelier (log P −2.00 against −2.50). It was still in the "
        "beam, unfinished, when the search stopped: with alpha 1.5 it could no longer reach the best score. Try "
        "alpha 0."
    )


def test_the_runner_up_is_neither_the_chosen_token_nor_one_that_is_never_chosen():
    tokens = ("<pad>", "<s>", "▁keine", "▁nicht", "▁Hund")
    trace = made_trace(
        candidate_ids=np.tile([0, 2, 20, 22, 23], (3, 1)),
        candidate_tokens=(tokens,) * 3,
        candidate_probabilities=np.tile([0.4, 0.2, 0.15, 0.1, 0.05], (3, 1)),
    )
    assert runner_up(trace, 0) == ("▁nicht", pytest.approx(0.1)) and runner_up(trace, 1) == ("▁keine", 0.15)
