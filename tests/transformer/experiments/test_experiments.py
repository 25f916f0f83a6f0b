"""Small experiments: the toy block, products of random vectors, label smoothing."""

import math

import numpy as np
import pytest
import torch

from transformer.errors import ConfigError
from transformer.experiments.attention import (
    TABLES,
    ToyShape,
    measure_random_products,
    rounding_gaps,
    softmax_jacobian_norm,
    table,
    toy_numbers,
    with_table,
)
from transformer.experiments.training import Smoothing
from transformer.training.optimization import smoothed_cross_entropy

SHAPE = ToyShape()


def test_the_numbers_come_from_the_seed_and_have_one_decimal():
    first, again, other = toy_numbers(SHAPE, 1), toy_numbers(SHAPE, 1), toy_numbers(SHAPE, 2)
    assert np.array_equal(first.x, again.x) and not np.array_equal(first.x, other.x)
    assert first.x.shape == (2, 3, 8) and np.allclose(first.x, first.x.round(1))
    assert np.allclose(first.parameters.w_query, first.parameters.w_query.round(1))
    assert not np.signbit(first.x[first.x == 0]).any(), "a negative zero would be shown as -0.0"


def test_the_stages_are_causal_and_lose_little_in_single_precision():
    stages = toy_numbers(SHAPE, 3, "causal").stages()
    powers = np.exp(stages.scores) * np.tri(3)
    assert np.allclose(stages.weights, powers / powers.sum(-1, keepdims=True))
    assert 0 < max(rounding_gaps(stages).values()) < 1e-6


@pytest.mark.parametrize("name", TABLES)
def test_every_table_can_be_replaced_and_nothing_else_changes(name):
    numbers = toy_numbers(SHAPE, 1)
    before = table(numbers, name, 1)  # LayerNorm takes out what is added to all dimensions alike
    values = before + 0.1 * np.arange(before.size).reshape(before.shape) % 7
    changed = with_table(numbers, name, values, 1)
    assert np.array_equal(table(changed, name, 1), values)
    for other in TABLES:
        if other != name:
            assert np.array_equal(table(changed, other, 1), table(numbers, other, 1)), other
    assert np.array_equal(table(changed, "X", 0), table(numbers, "X", 0))
    assert not np.allclose(changed.stages().result, numbers.stages().result)


def test_bad_tables_and_sizes_are_refused():
    numbers = toy_numbers(SHAPE, 1)
    values = table(numbers, "W_K")
    for bad in (np.nan, np.inf, 1001.0):
        with pytest.raises(ConfigError, match="Every cell of W_K needs a number"):
            with_table(numbers, "W_K", np.where(values == values[2, 3], bad, values))
    with pytest.raises(ValueError, match="shape"):
        with_table(numbers, "W_K", values[:3])
    for sizes in ({"batch": 4}, {"tokens": 0}, {"d_model": 17}, {"num_heads": 3}, {"d_model": 4, "num_heads": 8}):
        with pytest.raises(ConfigError):
            ToyShape(**sizes)
    with pytest.raises(ConfigError, match="mask"):
        toy_numbers(SHAPE, 1, "evil")


def test_products_of_random_vectors_spread_by_the_root_of_their_length():
    spread = measure_random_products(1)
    assert np.allclose(spread.products, np.sqrt(spread.sizes), rtol=0.1)
    assert np.allclose(spread.scores, 1, rtol=0.1)
    assert spread.largest[-1] > 0.9 and spread.largest_scaled.max() < 0.45
    assert np.array_equal(measure_random_products(1).largest, spread.largest)


def test_throughput_is_the_sum_of_softmaxs_derivatives():
    weights = np.random.default_rng(2).dirichlet(np.ones(6))
    derivatives = np.diag(weights) - np.outer(weights, weights)
    assert softmax_jacobian_norm(weights) == pytest.approx(np.abs(derivatives).sum())
    assert softmax_jacobian_norm(np.array([0.0, 1.0, 0.0])) == 0


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("classes", [3, 11])
def test_the_loss_is_that_of_pytorch_and_of_the_training_and_the_entropy_its_least(epsilon, classes):
    smoothing, losses = Smoothing(epsilon, classes), []
    for confidence in np.linspace(0.01, 0.99, 99).tolist():
        probabilities = torch.full((1, classes), (1 - confidence) / (classes - 1), dtype=torch.float64)
        probabilities[0, 2] = confidence
        logits, right = probabilities.log(), torch.tensor([2])
        losses.append(smoothing.cross_entropy(confidence))
        theirs = torch.nn.CrossEntropyLoss(label_smoothing=epsilon)(logits, right).item()
        trained = smoothed_cross_entropy(logits[None], right[None], pad_id=0, smoothing=epsilon).item()
        assert losses[-1] == pytest.approx(theirs, rel=1e-12) == pytest.approx(trained, rel=1e-12)
    masses = [smoothing.right, *[smoothing.wrong] * (classes - 1)]
    assert math.fsum(masses) == pytest.approx(1, rel=1e-15)
    assert smoothing.entropy == pytest.approx(-sum(m * math.log(m) for m in masses if m), abs=1e-15)
    assert min(losses) >= smoothing.entropy - 1e-12


def test_impossible_smoothings_are_refused():
    for settings in ((-0.1, 5), (1.0, 5), (math.nan, 5), (0.1, 1)):
        with pytest.raises(ConfigError):
            Smoothing(*settings)
    with pytest.raises(ValueError, match="between 0 and 1"):
        Smoothing(0.1, 5).cross_entropy(1.5)
