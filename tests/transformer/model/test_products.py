"""The products of a training on a CPU: oneDNN's equal PyTorch's, forward and backward, and are taken where they pay."""

import pytest
import torch
from support.tolerance import near
from torch.nn import functional as F

from transformer.model import products
from transformer.model.linear import Linear

SHAPES = [(5, 7, 16, 48), (3, 4, 48, 16), (6, 1, 24, 24)]  # sentences, positions, in, out
TOLERANCE = 1e-5  # of the largest value


@pytest.fixture
def always(monkeypatch):
    """Let oneDNN have even the smallest products."""
    monkeypatch.setattr(products, "_FEWEST_PRODUCTS", 1)


@pytest.fixture
def calls(monkeypatch) -> list:
    """The shapes that oneDNN multiplies."""
    shapes, original = [], products.onednn_product

    def counted(x, weight, *arguments):
        shapes.append((tuple(x.shape), tuple(weight.shape)))
        return original(x, weight, *arguments)

    monkeypatch.setattr(products, "onednn_product", counted)
    return shapes


def make(shape, dtype=torch.float32) -> tuple[Linear, torch.Tensor, torch.Tensor]:
    """A map, its input and the gradient of its output."""
    torch.manual_seed(1)
    sentences, positions, width, out = shape
    layer = Linear(width, out).to(dtype)
    x = torch.randn(sentences, positions, width, dtype=dtype, requires_grad=True)
    return layer, x, torch.randn(sentences, positions, out, dtype=dtype)


def errors(shape) -> list[float]:
    """Return the distances of output and gradients from PyTorch's in float64, relative to the largest value."""
    layer, x, outer = make(shape)
    ours = layer(x)
    ours.backward(outer)
    results = [ours, x.grad, layer.weight.grad, layer.bias.grad]
    exact = [each.detach().double().requires_grad_() for each in (x, layer.weight, layer.bias)]
    theirs = F.linear(*exact)
    theirs.backward(outer.double())
    right = [theirs, *(each.grad for each in exact)]
    return [((mine - yours).abs().max() / yours.abs().max()).item() for mine, yours in zip(results, right, strict=True)]


@pytest.mark.parametrize("shape", SHAPES)
def test_output_and_gradients_are_pytorchs(shape, always, calls):
    assert max(errors(shape)) < TOLERANCE
    assert len(calls) == 3, "one product forward and two backward, all by oneDNN"


@pytest.mark.parametrize("shape", SHAPES)
def test_its_derivatives_are_right_to_the_last_digits(shape):
    layer, x, _ = make(shape, torch.float64)
    assert torch.autograd.gradcheck(products._Linear.apply, (x, layer.weight, layer.bias))
    assert torch.autograd.gradcheck(lambda x, weight: products._Linear.apply(x, weight, None), (x, layer.weight))


def test_a_part_of_the_outputs_is_that_part_and_its_gradient_no_other(always, calls):
    layer, x, outer = make(SHAPES[0])
    part = layer.product(16)(x)
    torch.testing.assert_close(part, F.linear(x, layer.weight, layer.bias)[..., 16:])
    part.backward(outer[..., 16:])
    assert len(calls) == 3
    assert (layer.weight.grad[:16] == 0).all() and (layer.bias.grad[:16] == 0).all()
    expected = torch.einsum("spo,spi->oi", outer[..., 16:], x.detach())
    assert layer.weight.grad[16:] == near(expected)


def test_pytorch_multiplies_where_nothing_is_learned_or_little_or_in_another_precision(calls):
    layer, x, _ = make((8, 32, 128, 128))
    layer(x)
    assert len(calls) == 1
    layer(x[:1])  # too little
    layer.double()(x.double())
    layer.float().eval()(x)
    layer.train()
    with torch.no_grad():
        layer(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16
    assert len(calls) == 1


def test_without_onednn_pytorch_multiplies(always, monkeypatch):
    monkeypatch.setattr(products, "onednn_product", None)
    assert max(errors(SHAPES[0])) < TOLERANCE
