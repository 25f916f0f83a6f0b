"""The fast dropout: its statistics and PyTorch's are the same."""

import pytest
import torch

from transformer.model.layers import Dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.75])
def test_the_share_of_zeros_is_p_and_the_mean_is_preserved(p):
    torch.manual_seed(1)
    dropped = Dropout(p)(torch.ones(1000, 1000))
    share = (dropped == 0).float().mean().item()
    assert share == pytest.approx(p, abs=5 * (p * (1 - p)) ** 0.5 / 1000)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.01)
    assert dropped[dropped != 0].unique().tolist() == pytest.approx([1 / (1 - p)], abs=1e-4)


def test_neighbours_are_dropped_independently():
    """Four values share one draw of 64 bits: pairs at every distance within it must be uncorrelated."""
    torch.manual_seed(2)
    zeros = (Dropout(0.3)(torch.ones(1_000_000)) == 0).float() - 0.3
    for distance in range(1, 9):
        assert (zeros[distance:] * zeros[:-distance]).mean().abs().item() < 0.0015


@pytest.mark.parametrize("shape", [(1,), (3,), (2, 3, 5), (0, 4)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_shape_and_type_stay_and_without_dropout_all_values(shape, dtype):
    x = torch.ones(shape, dtype=dtype)
    dropped = Dropout(0.9999999)(x)  # the largest probability that a configuration allows
    assert dropped.shape == shape and dropped.dtype == dtype and dropped.isfinite().all()
    assert torch.equal(Dropout(0.5).eval()(x), x) and torch.equal(Dropout(0.0)(x), x)


def test_the_gradient_is_the_mask():
    x = torch.ones(1000, requires_grad=True)
    dropped = Dropout(0.25)(x)
    dropped.sum().backward()
    assert torch.equal(x.grad, dropped.detach())
