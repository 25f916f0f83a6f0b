"""Products of random vectors: why scores are divided by the root of d_k."""

import numpy as np
import pytest

from transformer.experiments.attention import measure_random_products, softmax_jacobian_norm


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
