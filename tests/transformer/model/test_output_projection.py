"""The output projection and its copy for oneDNN."""

import copy

import pytest
import torch
from torch.nn import functional as F

from transformer.model import linear
from transformer.model.layers import OutputProjection


@pytest.fixture
def projection():
    torch.manual_seed(3)
    return OutputProjection(10, 31)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", [(), (1,), (4,), (2, 3), (16,), (2, 70), (300,), (0,), (2, 0)])
def test_it_is_a_linear_map(shape, bias, monkeypatch):
    torch.manual_seed(3)
    projection, x = OutputProjection(10, 31, bias=bias), torch.randn(*shape, 10)
    with torch.inference_mode():
        expected = F.linear(x, projection.weight, projection.bias)
        torch.testing.assert_close(projection(x), expected)
        torch.testing.assert_close(copy.deepcopy(projection).double()(x.double()).float(), expected)
        monkeypatch.setattr(linear, "onednn_product", None)
        torch.testing.assert_close(projection(x), expected)


def test_rows_that_are_not_contiguous_are_multiplied_too(projection):
    x = torch.randn(4, 7, 10)
    with torch.inference_mode():
        for each in (x[:, -1], x.transpose(0, 1), x[:, ::2]):
            torch.testing.assert_close(projection(each), F.linear(each, projection.weight))


def test_a_model_that_has_decoded_can_be_copied_and_a_changed_weight_is_used_at_once(projection):
    x = torch.randn(4, 10)
    with torch.no_grad():
        before = projection(x)
        assert projection._copies is not None
        copied = copy.deepcopy(projection)
        copied.weight.mul_(2)
        torch.testing.assert_close(copied(x), 2 * before)
        torch.testing.assert_close(projection(x), before)
        projection.weight.copy_(torch.randn(31, 10))
        torch.testing.assert_close(projection(x), F.linear(x, projection.weight))


@pytest.mark.parametrize("fused", [True, False])
def test_a_weight_changed_by_an_optimizer_is_used_at_once(projection, fused):
    """A fused optimizer changes weights without counting it: a model that decodes while it learns must not lag."""
    x, optimizer = torch.randn(4, 10), torch.optim.Adam(projection.parameters(), lr=0.1, fused=fused)
    for _ in range(3):
        with torch.inference_mode():
            torch.testing.assert_close(projection(x), F.linear(x, projection.weight))
        projection(x).sum().backward()
        optimizer.step()


def test_a_matrix_that_is_too_large_is_not_copied(projection, monkeypatch):
    x = torch.randn(3, 10)
    monkeypatch.setattr(OutputProjection, "most_copied", 309)
    with torch.inference_mode():
        torch.testing.assert_close(projection(x), F.linear(x, projection.weight))
    assert projection._copies is None
