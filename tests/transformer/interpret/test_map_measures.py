"""Measures against hand-made maps whose kind is known."""

import numpy as np
import pytest

from transformer.arrays import entropy
from transformer.interpret import head_patterns as measures


def looking_at(offset: int, size: int = 6) -> np.ndarray:
    """A map whose every row reads the key `offset` away, where there is one, and spreads the rest."""
    weights = np.full((size, size), 0.02, dtype=np.float32)
    for row in range(size):
        weights[row, min(max(row + offset, 0), size - 1)] = 1 - 0.02 * (size - 1)
    return weights


TOKENS = ("a", "b", "c", "d", ".", "</s>")


@pytest.mark.parametrize("offset, pattern", [(0, "same"), (-1, "previous"), (1, "next")])
def test_a_head_of_one_offset_is_named_after_it_in_all_rows(offset, pattern):
    head = measures.measure_head("encoder", looking_at(offset), TOKENS)
    assert head.label == pattern
    assert head.shares[pattern] == 1
    assert head.counts[pattern].eligible == (6 if offset == 0 else 5)


def test_offsets_are_not_asked_of_cross_attention():
    assert measures.measure_head("cross", looking_at(-1), ("a", "b", "c", "d", "e", "f")).label is None


def test_a_head_on_the_end_of_sentence_is_named_after_it():
    weights = np.full((5, 6), 0.1)
    weights[:, 5] = 0.5
    head = measures.measure_head("cross", weights, TOKENS)
    assert head.label == "end of sentence" and head.counts[head.label] == measures.Share(5, 5)


def test_an_even_map_has_no_pattern():
    rng = np.random.default_rng(0)
    weights = rng.permuted(np.tile([0.4, 0.3, 0.1, 0.1, 0.05, 0.05], (6, 1)), axis=1)
    weights[np.arange(6), [3, 0, 5, 1, 2, 0]] = 0.9  # no offset, no key, twice
    assert measures.measure_head("encoder", weights, ("a", "b", "c", "d", "e", "f")).label is None


def test_two_rows_make_no_pattern():
    assert measures.measure_head("encoder", np.array([[0.9, 0.1], [0.1, 0.9]]), ("a", "b")).label is None


def test_masked_cells_never_hold_the_maximum():
    weights = np.where(np.tri(5, dtype=bool), looking_at(0, 5), np.nan)
    head = measures.measure_head("decoder", weights, ("<s>", "a", "b", "c", "d"))
    assert head.label == "same"
    assert head.counts[head.label].eligible == 4  # the first row can read itself only


def test_the_mean_maximum_leaves_out_rows_without_a_choice():
    assert measures.mean_maxima(np.array([[0.7, 0.3], [0.6, 0.4], [1.0, np.nan]])) == pytest.approx(0.65)
    assert np.isnan(measures.mean_maxima(np.array([[1.0, np.nan]])))


def test_confidence_does_not_count_the_end_of_sentence():
    weights = np.array([[0.1, 0.2, 0.7], [0.8, 0.1, 0.1]])
    assert measures.confidences(weights, ("a", "b", "</s>")) == pytest.approx(0.5)
    assert measures.confidences(weights, ("</s>",) * 3) == 0


def test_a_decoder_row_on_its_diagonal_reads_its_own_input():
    weights = np.where(np.tri(5, dtype=bool), looking_at(0, 5), np.nan)
    assert measures.measure_head("decoder", weights, ("<s>", "a", "b", "c", "d")).label == "same"


def test_entropy_is_zero_for_one_key_and_log_n_for_an_even_spread():
    entropies = entropy(np.array([[1, 0, 0, 0], [0.25] * 4, [0.5, 0.5, np.nan, np.nan]]))
    assert entropies == pytest.approx([0, np.log(4), np.log(2)])


def test_the_mean_entropy_leaves_out_rows_without_a_choice():
    weights = np.array([[1.0, np.nan], [0.5, 0.5]])
    assert measures.measure_head("decoder", weights, ("<s>", "a")).entropy == pytest.approx(np.log(2))
