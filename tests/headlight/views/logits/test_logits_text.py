"""The sentences on logits, spelled out for numbers made by hand: every branch of each."""

import numpy as np

from headlight.views.logits.text import (
    describe_confidence,
    describe_cut,
    describe_lens,
    layer_names,
    lens_rows,
    logit_by_hand,
    softmax_by_hand,
)
from transformer.decoding.truncation import truncate
from transformer.evaluation import Confidence
from transformer.interpret.activations import Predictions

NAMES = ("<pad>", "▁cat", "<s>", "▁dog", "▁no")
LOGITS = np.array([1.0, 3.0, -2.0, 2.0, 0.0])


def test_a_logit_is_its_largest_products_and_the_sum_of_the_others():
    hidden, row = np.array([0.5, -1.0, 2.0, 0.25, 0.1, -0.2]), np.array([1.0, 2.0, 0.5, -4.0, 1.0, 1.0])
    assert logit_by_hand(hidden, row, -1.6) == (
        "−1.0000 × 2.0000 (dimension 2) + 2.0000 × 0.5000 (dimension 3) + 0.2500 × −4.0000 (dimension 4) + 0.5000 "
        "× 1.0000 (dimension 1) + 2 other products −0.1000 = −1.6000. The model has −1.6000, difference 2·10⁻¹⁶."
    )
    assert logit_by_hand(hidden[:5], row[:5], -1.0) == (
        "−1.0000 × 2.0000 (dimension 2) + 2.0000 × 0.5000 (dimension 3) + 0.2500 × −4.0000 (dimension 4) + 0.5000 "
        "× 1.0000 (dimension 1) + 1 other product 0.1000 = −1.4000. The model has −1.0000, difference 4·10⁻¹."
    )
    assert logit_by_hand(hidden[:4], row[:4], -1.5) == (
        "−1.0000 × 2.0000 (dimension 2) + 2.0000 × 0.5000 (dimension 3) + 0.2500 × −4.0000 (dimension 4) + 0.5000 "
        "× 1.0000 (dimension 1) = −1.5000. The model has −1.5000, difference 0."
    )


def test_a_vector_in_float32_is_multiplied_in_float64():
    hidden, row = np.array([0.1], dtype=np.float32), np.array([0.3], dtype=np.float32)
    assert logit_by_hand(hidden, row, np.float32(0.1) * np.float32(0.3)) == (
        "0.1000 × 0.3000 (dimension 1) = 0.0300. The model has 0.0300, difference 4·10⁻¹⁰."
    )


def test_softmax_is_a_share_of_all_exponentials():
    assert softmax_by_hand(truncate(LOGITS), 3, 0.2336) == (
        "exp(2.0000 − 3.0000) / Σ exp(logit − 3.0000) = 0.3679 / 1.5597 = 0.2359, over all 5 tokens. The model "
        "has 0.2336, difference 2·10⁻³."
    )
    assert softmax_by_hand(truncate(LOGITS - 3), 1, 0.5) == (
        "exp(0.0000 − 0.0000) / Σ exp(logit − 0.0000) = 1.0000 / 1.5597 = 0.6411, over all 5 tokens. The model "
        "has 0.5000, difference 1·10⁻¹."
    )
    many = np.zeros(8000)
    many[0] = -1.0
    assert softmax_by_hand(truncate(many - 1), 0, 0.00004599) == (
        "exp(−2.0000 − (−1.0000)) / Σ exp(logit − (−1.0000)) = 0.3679 / 7999.3679 = 0.0000, over all 8,000 "
        "tokens. The model has 0.0000, difference 1·10⁻⁹."
    )


def cut(temperature=1.0, logits=LOGITS, **settings) -> str:
    return describe_cut(truncate(logits, temperature, **settings), lambda id: NAMES[id % 5], temperature)


def test_where_nothing_is_cut_off_all_may_be_drawn_but_what_decoding_never_chooses():
    assert cut() == ("“▁cat” has 64.1 % by the logits. Nothing is truncated: all 5 tokens may be drawn.")
    assert cut(forbidden=(0, 2)) == (
        "“▁cat” has 64.1 % by the logits. Nothing is truncated: all 5 tokens but <pad> and <s>, which decoding "
        "never chooses, may be drawn."
    )
    assert cut(logits=np.tile(LOGITS, 400), forbidden=(0,)) == (
        "“▁cat” has 0.2 % by the logits. Nothing is truncated: all 2,000 tokens but <pad>, which decoding never "
        "chooses, may be drawn."
    )


def test_what_is_cut_off_is_told_with_its_mass():
    assert cut(top_k=2) == (
        "“▁cat” has 64.1 % by the logits. 2 tokens of 5 may still be drawn; the others had 12.3 % of the mass, "
        "and what is kept is divided by its own 87.7 %: “▁cat” is drawn with 73.1 %."
    )
    assert cut(top_p=0.9, forbidden=(0, 2)) == (
        "“▁cat” has 64.1 % by the logits. 2 tokens of 5 may still be drawn; the others had 12.3 % of the mass, "
        "and what is kept is divided by its own 87.7 %: “▁cat” is drawn with 73.1 %."
    )
    assert cut(top_k=1) == (
        "“▁cat” has 64.1 % by the logits. 1 token of 5 may still be drawn; the others had 35.9 % of the mass, and "
        "what is kept is divided by its own 64.1 %: “▁cat” is drawn with > 99.9 %."
    )
    assert cut(logits=np.tile(LOGITS, 400), top_k=1500) == (
        "“▁cat” has 0.2 % by the logits. 1,500 tokens of 2,000 may still be drawn; the others had 1.2 % of the "
        "mass, and what is kept is divided by its own 98.8 %: “▁cat” is drawn with 0.2 %."
    )


def test_a_temperature_is_told_beside_the_logits():
    assert cut(0.5) == (
        "“▁cat” has 64.1 % by the logits, 86.5 % at temperature 0.5. 5 tokens of 5 may still be drawn: “▁cat” is "
        "drawn with 86.5 %."
    )
    assert cut(2.0, top_k=2) == (
        "“▁cat” has 64.1 % by the logits, 43.9 % at temperature 2. 2 tokens of 5 may still be drawn; the others "
        "had 29.5 % of the mass, and what is kept is divided by its own 70.5 %: “▁cat” is drawn with 62.2 %."
    )


def test_a_best_token_that_is_never_chosen_is_said_to_be_so():
    assert cut(forbidden=(1,), top_k=2) == (
        "“▁cat” has 64.1 % by the logits. 2 tokens of 5 may still be drawn; the others had 67.7 % of the mass, "
        "and what is kept is divided by its own 32.3 %: “▁cat” is never chosen in decoding."
    )
    assert cut(2.0, forbidden=(1, 0)) == (
        "“▁cat” has 64.1 % by the logits, 43.9 % at temperature 2. 3 tokens of 5 may still be drawn; the others "
        "had 60.0 % of the mass, and what is kept is divided by its own 40.0 %: “▁cat” is never chosen in "
        "decoding."
    )


def predictions(ranks: np.ndarray) -> Predictions:
    best = np.arange(ranks.size).reshape(*ranks.shape, 1) % 5
    probabilities = np.linspace(0.1, 0.9, ranks.size).reshape(ranks.shape)
    return Predictions(best, np.full(best.shape, 0.5), probabilities, ranks, np.ones(ranks.shape))


RANKS = np.array([[9, 1, 4000, 1], [1, 1, 7, 3], [1, 1, 2, 1]])


def test_a_lens_names_its_rows_and_fills_its_cells():
    assert layer_names(3) == ["start", "layer 1", "layer 2"] and layer_names(1) == ["start"]
    rows = lens_rows(predictions(RANKS), lambda id: NAMES[id])
    assert [name for name, _ in rows] == ["start", "layer 1", "layer 2"]
    assert rows[0][1] == [
        "<pad>\n10.0 %, rank 9",
        "▁cat\n17.3 %, rank 1",
        "<s>\n24.5 %, rank 4,000",
        "▁dog\n31.8 %, rank 1",
    ]
    assert rows[2][1][3] == "▁cat\n90.0 %, rank 1" and len(rows[2][1]) == 4


def test_a_lens_is_told_by_where_the_final_token_settles_and_where_it_ranks_worst():
    assert describe_lens(predictions(RANKS), NAMES) == (
        "The final token is the top-1 prediction from start on in 1; from layer 1 on in 1; from layer 2 on in 1; "
        "not even after the last layer in 1 of 4 steps. Its rank has the largest geometric mean over start and "
        "layers at step 3, “<s>”: 4,000, 7, 2, from start to layer 2."
    )
    assert describe_lens(predictions(np.array([[20], [5]])), NAMES[1:2]) == (
        "The final token is the top-1 prediction not even after the last layer in 1 of 1 step. Its rank has the "
        "largest geometric mean over start and layers at step 1, “▁cat”: 20, 5, from start to layer 1."
    )
    assert describe_lens(predictions(np.array([[60, 20], [1, 5]])), NAMES) == (
        "The final token is the top-1 prediction from layer 1 on in 1; not even after the last layer in 1 of 2 "
        "steps. Its rank has the largest geometric mean over start and layers at step 2, “▁cat”: 20, 5, from "
        "start to layer 1."
    )


def test_the_confidence_is_held_against_what_smoothing_asks_for():
    best = np.array([0.99, 0.95, 0.9, 0.4, 0.5])
    measured = Confidence(best, np.array([True, True, True, False, True]), best)
    assert describe_confidence(measured, None, None) == (
        "Over 5 tokens the top-1 prediction has a probability of 0.75 on average and is right in 80 % of cases. "
        "The 90th percentile of that probability is 0.9740, the highest 0.9900. Whether it was trained with label "
        "smoothing is not recorded in this checkpoint."
    )
    assert describe_confidence(measured, 0.0, 1.0) == (
        "Over 5 tokens the top-1 prediction has a probability of 0.75 on average and is right in 80 % of cases. "
        "The 90th percentile of that probability is 0.9740, the highest 0.9900. The model was trained without "
        "label smoothing: its loss is least at a probability of 1."
    )
    assert describe_confidence(measured, 0.1, 0.9) == (
        "Over 5 tokens the top-1 prediction has a probability of 0.75 on average and is right in 80 % of cases. "
        "The 90th percentile of that probability is 0.9740, the highest 0.9900. It was trained with ε = 0.1, "
        "whose loss is least at 0.9000, not at 1: the top-1 probability of 40 % of the tokens is above that."
    )
    one = Confidence(best[:1], np.array([True]), best[:1])
    assert describe_confidence(one, 0.1, 0.9)[:50] == "Over 1 token the top-1 prediction has a probabilit"
