"""The toy block: numbers from a seed, tables to change, and impossible sizes."""

import numpy as np
import pytest

from transformer.errors import ConfigError
from transformer.experiments.attention import (
    TABLES,
    ToyShape,
    rounding_gaps,
    table,
    toy_numbers,
    with_table,
)

SHAPE = ToyShape()


def test_the_numbers_come_from_the_seed_and_have_one_decimal():
    first, again, other = toy_numbers(SHAPE, 1), toy_numbers(SHAPE, 1), toy_numbers(SHAPE, 2)
    assert np.array_equal(first.x, again.x) and not np.array_equal(first.x, other.x)
    assert first.x.shape == (2, 3, 8) and np.allclose(first.x, first.x.round(1))
    assert np.allclose(first.parameters.w_query, first.parameters.w_query.round(1))
    assert not np.signbit(first.x[first.x == 0]).any(), "a negative zero would be shown as -0.0"


def test_the_stages_are_those_of_the_formula():
    numbers = toy_numbers(ToyShape(batch=2, tokens=3, d_model=8, num_heads=2), 3, "causal")
    stages = numbers.stages()
    p, head = numbers.parameters, slice(4, 8)
    query, key = (numbers.x[1] @ w + b for w, b in ((p.w_query, p.b_query), (p.w_key, p.b_key)))
    scores = query[:, head] @ key[:, head].T / 2
    powers = np.exp(scores) * np.tri(3)
    assert np.allclose(stages.weights[1, 1], powers / powers.sum(-1, keepdims=True))
    assert np.allclose(stages.result.mean(-1), 0) and np.allclose(stages.result.std(-1), 1, atol=1e-3)


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


def test_single_precision_is_near_but_not_the_same():
    gaps = rounding_gaps(toy_numbers(SHAPE, 1).stages())
    assert 0 < max(gaps.values()) < 1e-6
