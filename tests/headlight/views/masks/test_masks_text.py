"""The sentences on masks and on a masked head, spelled out for a batch made by hand: every branch of each."""

from dataclasses import replace

import numpy as np
from support.made_masks import CAUSAL, PADDING_MASK, made_head, made_pass

from headlight.views.masks.text import (
    describe_check,
    describe_head,
    describe_masks,
    describe_shapes,
    describe_source_mask,
    row_by_hand,
    row_words,
)


def test_the_batch_is_told_by_its_shapes():
    assert describe_shapes(made_pass()) == (
        "source [2, 3], decoder input [2, 4]; 3 of 14 positions are padding. source_mask [2, 1, 1, 3] is broadcast "
        "over all heads and queries; target_mask [2, 1, 4, 4] is the target's padding mask [2, 1, 1, 4] and the "
        "causal mask [4, 4], cell by cell."
    )
    assert describe_shapes(made_pass(target_lengths=(4, 4))) == (
        "source [2, 3], decoder input [2, 4]; 1 of 14 positions is padding. source_mask [2, 1, 1, 3] is broadcast "
        "over all heads and queries; target_mask [2, 1, 4, 4] is the target's padding mask [2, 1, 1, 4] and the "
        "causal mask [4, 4], cell by cell."
    )


def test_the_decoders_masks_are_told_by_their_cells():
    assert describe_masks(made_pass(), 0) == (
        "Sentence 1, 2 tokens in a batch 4 wide: the padding mask covers 8 of 16 cells, the causal mask 6, both "
        "together 9. In the 2 rows of real tokens both together are the causal mask alone, because padding on the "
        "right is always later. Only the 2 rows of padding could attend to padding, and their output is discarded."
    )
    assert describe_masks(made_pass(), 1) == (
        "Sentence 2, 4 tokens in a batch 4 wide: the padding mask covers 0 of 16 cells, the causal mask 6, both "
        "together 6. It fills the whole width, so there is no padding to mask here: compare the other sentence."
    )
    assert describe_masks(made_pass(target_lengths=(4, 4)), 1) == (
        "Sentence 2, 4 tokens in a batch 4 wide: the padding mask covers 0 of 16 cells, the causal mask 6, both "
        "together 6. It fills the whole width, so there is no padding to mask here: type a longer or shorter "
        "second sentence."
    )
    left = PADDING_MASK[:, None] & CAUSAL
    left[0, 1, 0] = False
    assert describe_masks(made_pass(target_mask=left[:, None]), 0) == (
        "Sentence 1, 2 tokens in a batch 4 wide: the padding mask covers 8 of 16 cells, the causal mask 6, both "
        "together 10. The padding mask covers cells of real tokens that the causal mask does not."
    )


def test_one_row_of_padding_is_one():
    one = np.array([[True, True, True, False], [True] * 4])
    shorter = made_pass(
        target_lengths=(3, 4), target_padding_mask=one[:, None, None], target_mask=(one[:, None] & CAUSAL)[:, None]
    )
    assert describe_masks(shorter, 0) == (
        "Sentence 1, 3 tokens in a batch 4 wide: the padding mask covers 4 of 16 cells, the causal mask 6, both "
        "together 7. In the 3 rows of real tokens both together are the causal mask alone, because padding on the "
        "right is always later. Only the 1 row of padding could attend to padding, and its output is discarded."
    )
    assert describe_masks(made_pass(target_lengths=(1, 4)), 0).startswith("Sentence 1, 1 token in a batch 4 wide: ")


def test_the_sources_mask_is_told_by_its_columns():
    assert describe_source_mask(made_pass(), 0) == (
        "It covers 1 of 3 columns for sentence 1: 3 of 9 cells in every encoder head, 4 of 12 in every "
        "cross-attention head."
    )
    assert describe_source_mask(made_pass(), 1) == (
        "It covers 0 of 3 columns for sentence 2: 0 of 9 cells in every encoder head, 0 of 12 in every "
        "cross-attention head."
    )


SCORES = [[0.0, 2.0, 1.0, 0.0], [1.0, 0.0, 0.0, 3.0], [9.0, 9.0, 9.0, 9.0], [9.0, 9.0, 9.0, 9.0]]


def test_what_the_mask_takes_from_a_head_is_told_by_its_share():
    assert describe_head(made_head(scores=SCORES)) == (
        "The mask covers 9 of 16 cells. On these very scores, softmax without it would give them 88 % of a row's "
        "weight on average, and 92 % in row 1 (input “<s>”, output “▁nein”). With it they get exactly 0, and the "
        "unmasked cells share all of it."
    )
    assert describe_head(made_head("encoder", scores=np.array(SCORES)[:3, :3])) == (
        "The mask covers 3 of 9 cells. On these very scores, softmax without it would give them 23 % of a row's "
        "weight on average, and 24 % in row 1 (“▁no”). With it they get exactly 0, and the unmasked cells share "
        "all of it."
    )
    assert describe_head(made_head("decoder", 1, scores=SCORES)) == (
        "The mask covers 6 of 16 cells. On these very scores, softmax without it would give them 67 % of the "
        "weight of a row that has masked cells on average, and 92 % in row 1 (input “<s>”, output “▁die”). With "
        "it they get exactly 0, and the unmasked cells share all of it."
    )


def test_a_head_without_masked_cells_says_so():
    assert describe_head(made_head("encoder", 1)) == (
        "All 9 cells are unmasked: this sentence has no padding to attend to, and no other mask applies. The maps "
        "differ by softmax alone; choose the other sentence, or the decoder, for masked cells."
    )


def test_the_check_is_told_by_its_largest_differences():
    head = made_head(scores=SCORES)
    assert describe_check(replace(head, weights=head.weights + np.eye(4) * 3e-7)) == (
        "Checked over the whole map: softmax of the masked scores and the weights differ by 3·10⁻⁷ at most; "
        "weights times values and the output of the model's fused kernel, by 6·10⁻⁸."
    )


def test_a_row_by_hand_goes_from_the_score_to_the_weight():
    assert row_by_hand(made_head(scores=SCORES), 1) == [
        ("score", ["1.0000", "0.0000", "0.0000", "3.0000"]),
        ("after the mask", ["1.0000", "0.0000", "−∞", "−∞"]),
        ("exp", ["2.718", "1", "0", "0"]),
        ("exp / 3.718", ["0.7311", "0.2689", "0", "0"]),
        ("the model's weight", ["0.7311", "0.2689", "0", "0"]),
    ]


def test_a_row_in_words_has_its_sum_and_its_largest_term():
    assert row_words(made_head(scores=SCORES), 1) == (
        "Row 2, input token “▁nein”: exp(score) summed over the 2 unmasked cells is 3.718. The largest term, "
        "“<s>”, is exp(1.0000) = 2.718, so its weight is 2.718 / 3.718 = 0.7311; the model's own is 0.7311."
    )
    assert row_words(made_head(scores=SCORES), 2) == (
        "Row 3, padding whose output is discarded: exp(score) summed over the 2 unmasked cells is 16,206. The "
        "largest term, “<s>”, is exp(9.0000) = 8,103, so its weight is 8,103 / 16,206 = 0.5000; the model's own "
        "is 0.5000."
    )
    assert row_words(made_head("encoder", 1, scores=np.array(SCORES)[:3, :3]), 1) == (
        "Row 2, query “▁cat”: exp(score) summed over the 3 unmasked cells is 4.718. The largest term, “▁the”, is "
        "exp(1.0000) = 2.718, so its weight is 2.718 / 4.718 = 0.5761; the model's own is 0.5761."
    )
    assert row_words(made_head("encoder", scores=np.full((3, 3), np.log(1001))), 2) == (
        "Row 3, padding whose output is discarded: exp(score) summed over the 2 unmasked cells is 2,002. The "
        "largest term, “▁no”, is exp(6.9088) = 1,001, so its weight is 1,001 / 2,002 = 0.5000; the model's own is "
        "0.5000."
    )
