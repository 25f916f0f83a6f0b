"""The output projection and its copy in the other memory order."""

import pytest
import torch
from support.small import small_config
from torch.nn import functional as F

from transformer.model.transformer import OutputProjection, Transformer


@pytest.fixture
def projection():
    torch.manual_seed(3)
    return OutputProjection(10, 31)


@pytest.mark.parametrize("rows", [1, 3, 70])
def test_it_is_a_linear_map_without_bias(projection, rows):
    x = torch.randn(2, rows, 10)
    with torch.inference_mode():
        torch.testing.assert_close(projection(x), F.linear(x, projection.weight))


def test_a_changed_weight_is_seen_at_once(projection):
    x = torch.randn(4, 10)
    with torch.no_grad():
        before = projection(x)
        projection.weight.mul_(2)
        torch.testing.assert_close(projection(x), 2 * before)
        projection.weight.copy_(torch.randn(31, 10))
        torch.testing.assert_close(projection(x), F.linear(x, projection.weight))


@pytest.mark.parametrize("fused", [True, False])
def test_a_weight_changed_by_an_optimizer_is_seen_at_once(projection, fused):
    """A fused optimizer changes weights without counting it: a model that is decoded while it learns must not lag."""
    x, optimizer = torch.randn(4, 10), torch.optim.Adam(projection.parameters(), lr=0.1, fused=fused)
    for _ in range(3):
        with torch.inference_mode():
            torch.testing.assert_close(projection(x), F.linear(x, projection.weight))
        projection(x).sum().backward()
        optimizer.step()


def test_gradients_reach_the_weight(projection):
    projection(torch.randn(4, 10)).sum().backward()
    assert projection.weight.grad is not None


def test_another_memory_order_changes_neither_values_nor_shapes():
    torch.manual_seed(4)
    model = Transformer(small_config()).eval()
    source, target = torch.randint(4, 20, (2, 5)), torch.randint(4, 20, (2, 7))
    with torch.inference_mode():
        before = model(source, target)
    shapes = {name: parameter.shape for name, parameter in model.named_parameters()}
    model.arrange_for_few_rows()
    assert {name: parameter.shape for name, parameter in model.named_parameters()} == shapes
    with torch.inference_mode():
        torch.testing.assert_close(model(source, target), before, rtol=1e-5, atol=1e-5)


def test_a_matrix_that_is_too_large_is_not_kept_twice(projection, monkeypatch):
    x = torch.randn(3, 10)
    with torch.inference_mode():
        before = projection(x)
        assert projection._copy is not None
        projection._copy = None
        monkeypatch.setattr("transformer.model.transformer._MOST_COPIED", 309)
        torch.testing.assert_close(projection(x), before)
    assert projection._copy is None
