"""A linear map by copies of its weight: the same map, and never by outdated copies."""

import weakref

import pytest
import torch
from support.tolerance import near
from torch.nn import functional as F

from transformer.model.linear import Linear


@pytest.mark.parametrize("rows", [1, 2, 13, 16, 17, 64, 65, 200, 300])
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
    with torch.no_grad():
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


def test_a_weight_that_was_moved_keeps_no_copies_in_memory():
    linear = Linear(10, 12)
    with torch.inference_mode():
        linear(torch.zeros(1, 10))
        copies = weakref.ref(linear.copies())
        linear.to(torch.bfloat16)(torch.zeros(1, 10, dtype=torch.bfloat16))
    assert copies() is None
