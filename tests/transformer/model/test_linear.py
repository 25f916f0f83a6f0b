"""Linear maps by copies of a weight and by oneDNN, and the output projection: PyTorch's map and gradients."""

import copy

import pytest
import torch
from support.tolerance import near
from torch.nn import functional as F

from transformer.model import linear, products
from transformer.model.layers import OutputProjection
from transformer.model.linear import Linear


@pytest.mark.parametrize("rows", [1, 2, 16, 17, 65, 300])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("part", [(0, 12), (0, 7), (7, 12)], ids=str)
def test_every_number_of_rows_and_outputs_is_the_same_map(rows, bias, part):
    torch.manual_seed(rows)
    linear = Linear(10, 12, bias=bias)
    first, last = part
    x = torch.randn(rows, 10)
    expected = F.linear(x, linear.weight, linear.bias)[:, first:last].detach()
    with torch.no_grad():
        product = linear.product(first, last)
        assert product.__name__ == "multiply"  # by copies
        assert product(x) == near(expected)
        assert product(x[:, None]) == near(expected[:, None])


def test_a_layer_that_is_too_large_or_learns_is_not_copied(monkeypatch):
    linear = Linear(10, 12)
    assert linear.product().__name__ != "multiply"  # gradients are on
    with torch.inference_mode():
        assert linear.product().__name__ == "multiply"
        linear.bias.data = torch.ones(12)
        torch.testing.assert_close(linear(torch.zeros(1, 10)), torch.ones(1, 12))
        monkeypatch.setattr(Linear, "most_copied", 119)
        assert linear.product().__name__ != "multiply"


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", [(), (4,), (2, 70), (2, 0)])
def test_it_is_a_linear_map(shape, bias, monkeypatch):
    torch.manual_seed(3)
    projection, x = OutputProjection(10, 31, bias=bias), torch.randn(*shape, 10)
    with torch.inference_mode():
        expected = F.linear(x, projection.weight, projection.bias)
        torch.testing.assert_close(projection(x), expected)
        torch.testing.assert_close(copy.deepcopy(projection).double()(x.double()).float(), expected)
        torch.testing.assert_close(
            projection(x.expand(3, *shape, 10).transpose(0, -2)), projection(x).expand(3, *shape, 31).transpose(0, -2)
        )
        monkeypatch.setattr(linear, "onednn_product", None)
        torch.testing.assert_close(projection(x), expected)


@pytest.mark.parametrize("fused", [True, False])
def test_a_weight_of_a_copy_changed_by_an_optimizer_is_used_at_once(fused):
    """A fused optimizer changes weights without counting it: a model that decodes while it learns must not lag."""
    projection = OutputProjection(10, 31)
    with torch.no_grad():
        projection(torch.zeros(1, 10))
    assert projection._copies is not None
    projection, x = copy.deepcopy(projection), torch.randn(4, 10)
    optimizer = torch.optim.Adam(projection.parameters(), lr=0.1, fused=fused)
    for _ in range(3):
        with torch.inference_mode():
            torch.testing.assert_close(projection(x), F.linear(x, projection.weight))
        projection(x).sum().backward()
        optimizer.step()


SHAPES = [(5, 7, 4, 6), (6, 1, 5, 3)]  # sentences, positions, in, out


def make(shape, dtype=torch.float32) -> tuple[Linear, torch.Tensor, torch.Tensor]:
    """A map, its input and the gradient of its output."""
    torch.manual_seed(1)
    sentences, positions, width, out = shape
    layer = Linear(width, out).to(dtype)
    x = torch.randn(sentences, positions, width, dtype=dtype, requires_grad=True)
    return layer, x, torch.randn(sentences, positions, out, dtype=dtype)


@pytest.mark.parametrize("shape", SHAPES)
def test_its_derivatives_are_right_to_the_last_digits(shape):
    layer, x, _ = make(shape, torch.float64)
    assert torch.autograd.gradcheck(products._Linear.apply, (x, layer.weight, layer.bias))
    assert torch.autograd.gradcheck(lambda x, weight: products._Linear.apply(x, weight, None), (x, layer.weight))


def test_a_part_of_the_outputs_is_that_part_and_its_gradient_no_other(monkeypatch):
    monkeypatch.setattr(products, "_FEWEST_PRODUCTS", 1)  # oneDNN has even the smallest products
    layer, x, outer = make((5, 7, 16, 48))
    part = layer.product(16)(x)
    assert "_Linear" in part.grad_fn.name()
    torch.testing.assert_close(part, F.linear(x, layer.weight, layer.bias)[..., 16:])
    part.backward(outer[..., 16:])
    assert (layer.weight.grad[:16] == 0).all() and (layer.bias.grad[:16] == 0).all()
    assert layer.weight.grad[16:] == near(torch.einsum("spo,spi->oi", outer[..., 16:], x.detach()))
    assert layer.bias.grad[16:] == near(outer[..., 16:].sum((0, 1)))
    assert x.grad == near(outer[..., 16:] @ layer.weight[16:].detach())
