"""Splitting into heads in numbered cells, and why scores are divided by the root of d_k."""

import numpy as np
import pytest

from transformer.experiments.attention import (
    measure_random_products,
    misplaced_cells,
    numbered,
    softmax_jacobian_norm,
    split_right,
    split_wrong,
)
from transformer.interpret.attention_block import split_heads


@pytest.mark.parametrize("tokens, heads, d_k", [(3, 2, 4), (2, 3, 1), (5, 4, 3), (4, 1, 2)])
def test_the_right_way_is_the_models_and_moves_nothing(tokens, heads, d_k):
    before, viewed, right = split_right(tokens, heads, d_k)
    assert np.array_equal(right.cells, split_heads(before.cells, heads))
    assert before.cells.ravel().tolist() == viewed.cells.ravel().tolist() == list(range(tokens * heads * d_k))
    assert viewed.strides == (tokens * heads * d_k, heads * d_k, d_k, 1) and viewed.contiguous
    assert right.strides == (tokens * heads * d_k, d_k, heads * d_k, 1)
    assert right.contiguous == (heads == 1 or tokens == 1)
    assert not misplaced_cells(right, heads * d_k).any()


def test_the_wrong_way_has_the_same_shape_and_other_cells():
    right, wrong = split_right(3, 2, 4)[2], split_wrong(3, 2, 4)
    assert right.shape == wrong.shape == (1, 2, 3, 4)
    assert misplaced_cells(wrong, 8).tolist() == [[0, 4, 4], [4, 4, 0]]
    assert wrong.cells[0, 0, 1].tolist() == [4, 5, 6, 7], "the second half of token 1 in the row of token 2"


def test_with_one_head_both_ways_agree():
    assert np.array_equal(split_right(3, 1, 4)[2].cells, split_wrong(3, 1, 4).cells)
    with pytest.raises(ValueError):
        numbered(0, 4)


def test_products_of_random_vectors_spread_by_the_root_of_their_length():
    spread = measure_random_products(1)
    assert np.allclose(spread.products, np.sqrt(spread.sizes), rtol=0.1)
    assert np.allclose(spread.scores, 1, rtol=0.1)
    assert spread.largest[-1] > 0.9 and spread.largest_scaled.max() < 0.45
    assert np.array_equal(measure_random_products(1).largest, spread.largest)


def test_throughput_is_the_sum_of_softmaxs_derivatives():
    generator = np.random.default_rng(2)
    scores = generator.normal(size=6)

    def softmax(values):
        powers = np.exp(values)
        return powers / powers.sum()

    total = 0.0
    for key in range(6):
        moved = scores.copy()
        moved[key] += 1e-6
        total += np.abs(softmax(moved) - softmax(scores)).sum() / 1e-6
    assert softmax_jacobian_norm(softmax(scores)) == pytest.approx(total, rel=1e-4)
    assert softmax_jacobian_norm(np.array([0.0, 1.0, 0.0])) == 0
