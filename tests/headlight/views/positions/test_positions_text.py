"""The sentences on positional encodings, spelled out for small tables: every branch of each."""

import re

import numpy as np
from headlight.views.positions.sum_text import describe_repetition, describe_sum, try_dimensions
from headlight.views.positions.text import (
    ONE_PAIR,
    describe_curves,
    describe_matrix,
    describe_products,
    describe_rotation,
    describe_size,
    describe_wavelengths,
    missing_dimensions,
    rotation_formula,
    try_curves,
    try_matrix,
    try_products,
    try_rotation,
    try_wavelengths,
)

from transformer.interpret.positions import DistanceLaw, EmbeddingSum, encoding

SMALL, MODEL, PAIR = encoding(30, 8, 10000.0), encoding(64, 6, 10000.0), encoding(8, 2, 10000.0)
FAST = encoding(1000, 8, 100.0)


def test_a_table_is_named_by_its_size_and_base():
    assert describe_size(SMALL) == "d_model 8, positions 0 to 29, base 10,000"


def test_dimensions_that_a_table_lacks_are_listed():
    assert missing_dimensions(SMALL, [0, 7]) == ""
    assert missing_dimensions(SMALL, [3, 8]) == "Not here: dimension 8. With d_model 8 they go from 0 to 7."
    assert missing_dimensions(SMALL, [12, 0, 8]) == "Not here: dimensions 8, 12. With d_model 8 they go from 0 to 7."


def test_curves_are_told_by_their_wavelengths_here_and_in_the_model():
    assert describe_curves(SMALL, MODEL, [5, 2]) == (
        "Dimension 2 repeats every 62.8 positions, dimension 5 every 628; in this model, dimension 5 every 2,916. "
        "The two curves of a pair are one wave, the cosine a quarter of it ahead."
    )
    assert describe_curves(SMALL, MODEL, [7, 0]) == (
        "Dimension 0 repeats every 6.3 positions, dimension 7 every 6,283. The two curves of a pair are one wave, "
        "the cosine a quarter of it ahead."
    )
    assert describe_curves(SMALL, MODEL, [6, 7]) == (
        "Dimension 6 repeats every 6,283 positions. The two curves of a pair are one wave, the cosine a quarter "
        "of it ahead."
    )
    assert describe_curves(SMALL, MODEL, [8, 4, 5]) == (
        "Dimension 4 repeats every 628 positions; in this model, dimension 5 every 2,916. The two curves of a "
        "pair are one wave, the cosine a quarter of it ahead."
    )
    assert describe_curves(SMALL, MODEL, [8]) == "These settings have none of the chosen dimensions."


def test_a_single_dimension_and_the_ends_of_three_are_told():
    assert describe_curves(SMALL, MODEL, [7]).startswith("Dimension 7 repeats every 6,283 positions. The two")
    assert describe_curves(SMALL, MODEL, [6]).startswith("Dimension 6 repeats every 6,283 positions. The two")
    assert describe_curves(SMALL, MODEL, [3, 0, 5]).startswith(
        "Dimension 0 repeats every 6.3 positions, dimension 5 every"
    )


def test_what_another_base_does_to_a_curve_is_to_be_tried():
    assert try_curves(SMALL, [0, 5]) == "base 100: dimension 5 repeats every 62.8 positions instead of 628."
    assert try_curves(FAST, [2, 8]) == "base 10,000: dimension 2 repeats every 62.8 positions instead of 19.9."
    assert try_curves(SMALL, [0, 1, 9]) == "dimension 7, the slowest here: it repeats every 6,283 positions."
    assert try_curves(SMALL, []) == "dimension 7, the slowest here: it repeats every 6,283 positions."


def test_a_single_pair_is_the_same_with_every_base():
    assert [try_curves(PAIR, [0]), try_matrix(PAIR), try_products(PAIR), try_wavelengths(PAIR)] == [ONE_PAIR] * 4


def test_columns_that_hardly_change_are_counted():
    assert describe_matrix(SMALL, encoding(3, 6, 10000.0)) == (
        "Each row is one position's vector; the farther right a column, the slower it changes. 3 of 8 columns "
        "change by less than 0.1 over these 30 positions; in this model 4 of 6, over 3."
    )
    assert try_matrix(encoding(9, 8, 10000.0)) == "base 100: then 1 of 8 columns hardly changes, instead of 4."


def law(*means: float, deviation: float = 0.0) -> DistanceLaw:
    return DistanceLaw(np.array(means), deviation)


def test_products_are_told_by_how_fast_they_fall():
    assert describe_products(law(4.0, 3.0, 2.0, deviation=3e-7), law(3.0, deviation=2e-6)) == (
        "Every diagonal has one colour: the dot product depends on the distance alone. No product differs by more "
        "than 3·10⁻⁷ (this model: 2·10⁻⁶) from the mean of its distance, which is rounding. The product of a "
        "position with itself is d_model / 2 = 4; up to distance 2 at least half of that remains."
    )
    assert describe_products(law(4.0, 1.96, 1.0, 1.21, 1.1), law(3.0)) == (
        "Every diagonal has one colour: the dot product depends on the distance alone. No product differs by more "
        "than 0 (this model: 0) from the mean of its distance, which is rounding. The product of a position with "
        "itself is d_model / 2 = 4; at distance 1 more than half of that is lost, and from 0.25 of it at distance 2 it "
        "rises again to 0.30 at 3."
    )
    assert describe_products(law(4.0, 3.0, 1.0, 1.19, 0.5, 0.6), law(3.0)) == (
        "Every diagonal has one colour: the dot product depends on the distance alone. No product differs by more "
        "than 0 (this model: 0) from the mean of its distance, which is rounding. The product of a position with "
        "itself is d_model / 2 = 4; at distance 2 more than half of that is lost."
    )
    assert describe_products(law(8.0, 3.0, 0.4, 0.8, 2.0, 1.8), law(3.0)) == (
        "Every diagonal has one colour: the dot product depends on the distance alone. No product differs by more "
        "than 0 (this model: 0) from the mean of its distance, which is rounding. The product of a position with "
        "itself is d_model / 2 = 8; at distance 1 more than half of that is lost, and from 0.05 of it at distance "
        "2 it rises again to 0.25 at 4."
    )
    assert try_products(encoding(6, 8, 10000.0)) == (
        "base 100: the product of a position with itself is 4 there too, but at distance 3 more than half of that "
        "is lost, and from 0.39 of it at distance 3 it rises again to 0.53 at 5."
    )


def test_pairs_that_rotate_fully_are_counted():
    assert describe_wavelengths(SMALL, PAIR) == (
        "With these settings 1 of 4 pairs rotates fully at least once within 30 positions, and the slowest rotates "
        "by 1.66°. In this model 1 of 1 pair rotates fully at least once within 8 positions, and the slowest "
        "rotates by 401.07°."
    )
    assert describe_wavelengths(encoding(7, 2, 10000.0), FAST) == (
        "With these settings 0 of 1 pair rotates fully at least once within 7 positions, and the slowest rotates "
        "by 343.77°. In this model 4 of 4 pairs rotate fully at least once within 1000 positions, and the slowest "
        "rotates by 1,810.04°."
    )
    assert try_wavelengths(SMALL) == "base 100: then 2 of 4 pairs rotate fully at least once, instead of 1."


def test_one_pair_of_several_and_a_single_one_rotates_and_none_rotate():
    assert "1 of 4 pairs rotates fully at least once within 30" in describe_wavelengths(SMALL, PAIR)
    assert "0 of 4 pairs rotate fully at least once within 6" in describe_wavelengths(encoding(6, 8, 10000.0), PAIR)
    assert "1 of 8 columns changes by less" in describe_matrix(encoding(9, 8, 100.0), PAIR)


def test_one_pair_rotates_with_another_base():
    said = try_wavelengths(encoding(8, 8, 10000.0))
    assert said == "base 100: then 1 of 4 pairs rotates fully at least once, as many as here."


def test_a_wave_as_long_as_the_table_rotates_fully_within_it():
    assert "1 of 1 pair rotates fully" in describe_wavelengths(encoding(8, 2, 100.0), PAIR)
    assert "0 of 1 pair rotates fully" in describe_wavelengths(encoding(7, 2, 100.0), PAIR)


def close(text: str) -> str:
    """A sentence whose error of rounding, which depends on the machine, is X."""
    return re.sub(r"\d·10⁻⁸", "X·10⁻⁸", text)


def test_a_rotation_is_told_by_its_angle_and_its_error():
    assert close(describe_rotation(SMALL, MODEL, 1, 3)) == (
        "A shift by 3 positions rotates pair 1 by 17.19°, from any position on. Over all pairs and positions, "
        "R(k) PE(p) differs from PE(p + k) by at most X·10⁻⁸ (this model: X·10⁻⁸), which is rounding."
    )
    assert close(describe_rotation(SMALL, PAIR, 0, 20)) == (
        "A shift by 20 positions rotates pair 0 by 1,145.9° (3 full rotations and 65.9°), from any position on. "
        "Over all pairs and positions, R(k) PE(p) differs from PE(p + k) by at most X·10⁻⁸ (this model: no two "
        "positions that far apart), which is rounding."
    )
    assert close(describe_rotation(SMALL, PAIR, 0, 1)).startswith("A shift by 1 position rotates pair 0 by 57.30°, ")
    assert describe_rotation(SMALL, PAIR, 0, 7).startswith("A shift by 7 positions rotates pair 0 by 401.1° (1 full")


def test_the_other_end_of_the_frequencies_is_to_be_tried():
    assert try_rotation(SMALL, 0, 3) == (
        "another position: both arrows rotate, the angle between them and the matrix stay the same. Or pair 3, "
        "which the same offset rotates by 0.17°."
    )
    assert try_rotation(SMALL, 2, 13) == (
        "another position: both arrows rotate, the angle between them and the matrix stay the same. Or pair 0, "
        "which the same offset rotates by 744.8° (2 full rotations and 24.8°)."
    )
    assert try_rotation(PAIR, 0, 3) == (
        "another position: both arrows rotate, the angle between them and the matrix stay the same."
    )


def test_the_formula_holds_the_numbers_of_its_pair():
    assert rotation_formula(SMALL, 1, 2, 3) == (
        r"\begin{aligned}& \underbrace{\begin{pmatrix} 0.9553 & 0.2955 \\ -0.2955 & 0.9553 \end{pmatrix}}_{R(3)}"
        r"\underbrace{\begin{pmatrix} 0.1987 \\ 0.9801 \end{pmatrix}}_{PE(2)} \\[4pt] "
        r"&= \begin{pmatrix} 0.4794 \\ 0.8776 \end{pmatrix} \\[4pt] "
        r"&\approx \underbrace{\begin{pmatrix} 0.4794 \\ 0.8776 \end{pmatrix}}_{PE(5)}\end{aligned}"
    )


def summed(tokens, embeddings, positions) -> EmbeddingSum:
    embeddings, positions = np.array(embeddings, dtype=float), np.array(positions, dtype=float)
    return EmbeddingSum(tokens, embeddings, positions, embeddings + positions)


SUM = summed(
    ("▁no", "▁cat", "▁no", "</s>"),
    [[3.0, 0.0], [0.0, 1.2], [3.0, 0.0], [0.0, 1.01]],
    [[0.0, 1.0], [1.0, 0.05], [0.6, 0.8], [0.0, 1.0]],
)


def test_a_sum_is_told_by_its_norms_and_by_whose_direction_changes():
    assert describe_sum(SUM) == (
        "Every position has norm √(d_model / 2) = 1.00; times √d_model, the embeddings have norms from 1.0 to "
        "3.0: every token has a larger norm than its position. The sum's direction differs most from “▁cat” at "
        "position 1 (cosine 0.78), least from “</s>” at position 3 (1.00)."
    )
    small = summed(("▁no", "▁cat", "▁no"), [[0.5, 0.0], [0.0, 0.25], [0.5, 0.0]], [[0.0, 1.0], [1.0, 0.0], [0.6, 0.8]])
    assert describe_sum(small) == (
        "Every position has norm √(d_model / 2) = 1.00; times √d_model, the embeddings have norms from 0.2 to "
        "0.5: the position added has a larger norm than “▁no”, “▁cat”. The sum's direction differs most from "
        "“▁cat” at position 1 (cosine 0.24), least from “▁no” at position 2 (0.81)."
    )


def test_columns_that_hardly_tell_the_tokens_apart_are_counted():
    assert try_dimensions(SUM) == (
        "all dimensions: 0 of the 2 position columns vary by less than 0.1 over these "
        "4 tokens; the fast ones on the left distinguish them."
    )
    slow = summed(("▁no", "</s>"), np.ones((2, 4)), [[0.0, 1.0, 0.0, 1.0], [0.8, 0.5, 0.09, 0.9]])
    assert "1 of the 2 position columns varies by" in try_dimensions(
        summed(("a", "b"), np.ones((2, 2)), [[0, 1], [1, 1]])
    )
    assert try_dimensions(slow) == (
        "all dimensions: 2 of the 4 position columns vary by less than 0.1 over these "
        "2 tokens; the fast ones on the left distinguish them."
    )


def test_a_token_that_stands_twice_is_told_by_its_two_vectors():
    assert describe_repetition(SUM) == (
        "“▁no” is at positions 0 and 2. Before the addition both are the same vector (distance 0.00), after it "
        "they are 0.63 apart (cosine 0.99): only now can attention distinguish them."
    )
    marks = summed((",", "▁no", ",", "▁no"), np.ones((4, 2)), [[0, 1], [1, 0], [0.6, 0.8], [0.0, -1.0]])
    assert describe_repetition(marks).startswith("“▁no” is at positions 1 and 3.")
    assert describe_repetition(summed((",", ","), np.ones((2, 2)), [[0, 1], [1, 0]])).startswith(
        "“,” is at positions 0"
    )
    assert describe_repetition(summed(("▁no", "</s>"), np.ones((2, 2)), [[0, 1], [1, 0]])) == ""
