"""The sentences on what a disabled mask does, spelled out for a batch made by hand: every branch of each."""

from dataclasses import replace

import numpy as np
from support.made_masks import NEXT, made_head, made_pass

from headlight.views.masks.text import (
    describe_answer,
    describe_cheating,
    describe_leak,
    describe_no_padding,
    describe_predictions,
    describe_reading_padding,
)
from transformer.interpret.mask_ablation import MaskedPass


def leaking(kind: str, disabled: str, **places: float) -> tuple[MaskedPass, MaskedPass]:
    """Both passes; without the mask head 3 of layer 2 gives these weights to cells of the sentence that were masked."""
    masked, run = made_pass(), made_pass(disabled)
    own = run.attention(kind)
    weights = np.zeros((2, 2, 3, *own.unmasked.shape[1:]))
    for place, weight in places.items():
        layer, sentence, head, row, column = map(int, place[1:])
        weights[layer, sentence, head, row, column] = weight
    return masked, replace(run, **{kind: replace(own, weights=weights)})


def test_what_leaks_is_told_of_this_head_and_of_the_one_where_most_leaks():
    passes = leaking("decoder", "causal", _11201=0.25, _11213=0.5, _11223=0.125, _11101=0.125)
    assert describe_leak(*passes, made_head("decoder", 1)) == (
        "In layer 2, head 3, 0.29 of the weight of a row that has masked cells now goes to later tokens on average, "
        "and 0.50 in row 2 (input “▁die”, output “▁Katze”); the most of all heads of this kind, on average."
    )
    assert describe_leak(*passes, made_head("decoder", 1, head=1)) == (
        "In layer 2, head 2, 0.04 of the weight of a row that has masked cells now goes to later tokens on "
        "average, and 0.12 in row 1 (input "
        "“<s>”, output “▁die”); try layer 2, head 3, where the most leaks on average: 0.29."
    )
    assert describe_leak(*passes, made_head("decoder", 1, layer=0)) == (
        "In layer 1, head 3, 0.00 of the weight of a row that has masked cells now goes to later tokens on "
        "average, and 0.00 in row 1 (input "
        "“<s>”, output “▁die”); try layer 2, head 3, where the most leaks on average: 0.29."
    )


def test_what_leaks_to_padding_is_told_so():
    passes = leaking("encoder", "padding", _10202=0.25, _10212=0.75)
    assert describe_leak(*passes, made_head("encoder")) == (
        "In layer 2, head 3, 0.50 of a row's weight now goes to <pad> on average, and 0.75 in row 2 (“</s>”); the "
        "most of all heads of this kind, on average."
    )
    assert describe_leak(*passes, made_head("encoder", 1)) == ""


def test_the_answer_is_one_column_to_the_right():
    _, run = leaking("decoder", "causal", _11201=0.25, _11212=0.5, _11223=0.125, _11203=1.0)
    assert describe_answer(run, made_head("decoder", 1)) == (
        "In each row but the last the next token itself is now unmasked, one column right of the diagonal: this "
        "head gives that cell a weight of 0.29 on average."
    )
    assert describe_answer(run, replace(made_head("decoder", 0), real_queries=1)) == ""
    assert describe_answer(run, replace(made_head("decoder", 1), real_queries=2)).endswith("weight of 0.25 on average.")


BEFORE = [[0.5, 0.25, 0.9, 0.9], [0.5, 0.25, 0.5, 0.125]]
AFTER = [[0.5, 0.25, 0.0, 0.0], [0.75, 0.125, 0.5, 0.9]]


def test_predictions_are_told_by_the_step_that_changed_most():
    masked, run = made_pass(probabilities=BEFORE), made_pass("causal", AFTER)
    assert describe_predictions(masked, run, 1) == (
        "Step 4 changed most: “</s>” had 12.5 % with the mask and has 90.0 % without it. Over the 4 steps the "
        "next token's probability is 34.4 % on average with the mask, 56.9 % without; it rose in 2 and fell in 1. "
        "The top-1 prediction is the same at every step."
    )
    others = NEXT[0], ("▁die", "▁Hund", ".", "▁ja")
    assert describe_predictions(masked, replace(run, best_tokens=others), 1) == (
        "Step 4 changed most: “</s>” had 12.5 % with the mask and has 90.0 % without it. Over the 4 steps the "
        "next token's probability is 34.4 % on average with the mask, 56.9 % without; it rose in 2 and fell in 1. "
        "The top-1 prediction is another one at 2 of 4 steps, such as “▁ja” instead of “</s>” at step 4."
    )
    others = NEXT[0], ("▁die", "▁Hund", ".", "</s>")
    assert describe_predictions(masked, replace(run, best_tokens=others), 1) == (
        "Step 4 changed most: “</s>” had 12.5 % with the mask and has 90.0 % without it. Over the 4 steps the "
        "next token's probability is 34.4 % on average with the mask, 56.9 % without; it rose in 2 and fell in 1. "
        "The top-1 prediction is another one at 1 of 4 steps, such as “▁Hund” instead of “▁Katze” at step 2."
    )


def test_predictions_that_stay_are_said_to_stay():
    masked, run = made_pass(probabilities=BEFORE), made_pass("causal", AFTER)
    assert (
        describe_predictions(masked, run, 0) == "Over 2 steps no next token's probability changes by more than 1·10⁻⁶."
    )
    one = {"target_lengths": (1, 4)}
    assert describe_predictions(replace(masked, **one), replace(run, **one), 0).startswith("Over 1 step no next token")


def test_whether_cheating_helped_is_told_by_the_mean_gain():
    masked, run = made_pass(probabilities=BEFORE), made_pass("causal", AFTER)
    assert describe_cheating(masked, run, 1) == (
        "Here attending to the next token helped: +0.23 on average in the next token's probability. These next "
        "tokens are the model's own choices, made with the mask. It was trained with it and never learned to copy "
        "from later tokens. A model trained without the mask would learn to copy the next column, and be useless "
        "for decoding, where that column does not exist yet."
    )
    assert describe_cheating(run, masked, 1).startswith(
        "Here attending to the next token did not help: −0.23 on average"
    )
    assert describe_cheating(masked, run, 0).startswith(
        "Here attending to the next token changed the next token's probability by less than 0.005 on average. These"
    )


def test_a_sentence_without_padding_is_sent_to_one_that_has_some():
    masked, run = made_pass(probabilities=BEFORE), made_pass("padding", np.array(BEFORE) + 3e-8)
    assert describe_no_padding(masked, run, 1) == (
        "The source of sentence 2 has no padding, so disabling its mask changes nothing (no probability by more "
        "than 3·10⁻⁸); choose sentence 1, which has some."
    )
    assert describe_no_padding(replace(masked, source_lengths=(3, 3)), run, 1) == (
        "The source of sentence 2 has no padding, so disabling its mask changes nothing (no probability by more "
        "than 3·10⁻⁸); no sentence of this batch has any: make one of them longer."
    )


def test_what_changes_in_rows_of_padding_means_nothing():
    masked, run = made_pass(source_lengths=(3, 3)), made_pass("padding", [[0.5, 0.5, 0.9, 0.9], [0.5] * 4])
    assert "changes nothing (no probability by more than 0); no sentence" in describe_no_padding(masked, run, 0)


def test_what_it_means_to_read_padding():
    assert describe_reading_padding(made_pass(), 0) == (
        "The model never attended to padding in training, and the sentence itself has not changed: the 1 position "
        "after its 2 tokens is there only because the other sentence is longer. Without the padding mask the "
        "probabilities depend on the rest of the batch. Try a longer second sentence, then a shorter one."
    )
    assert describe_reading_padding(made_pass(source_lengths=(1, 3)), 0) == (
        "The model never attended to padding in training, and the sentence itself has not changed: the 2 positions "
        "after its 1 token are there only because the other sentence is longer. Without the padding mask the "
        "probabilities depend on the rest of the batch. Try a longer second sentence, then a shorter one."
    )
