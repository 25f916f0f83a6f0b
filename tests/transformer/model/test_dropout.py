"""The fast dropout: its statistics and PyTorch's are the same."""

import pytest
import torch

from transformer.model.layers import Dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.75])
def test_the_share_of_zeros_is_p_and_the_mean_is_kept(p):
    torch.manual_seed(1)
    x = torch.ones(1000, 1000)
    dropped = Dropout(p)(x)
    share = (dropped == 0).float().mean().item()
    assert share == pytest.approx(p, abs=5 * (p * (1 - p)) ** 0.5 / 1000)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.01)
    kept = dropped[dropped != 0]
    assert kept.unique().numel() == 1 and kept[0].item() == pytest.approx(1 / (1 - p), abs=1e-4)


def test_neighbours_are_dropped_independently():
    """Four values share one draw of 64 bits: pairs at every distance within it must be uncorrelated."""
    torch.manual_seed(2)
    zeros = (Dropout(0.3)(torch.ones(1_000_000)) == 0).float() - 0.3
    for distance in range(1, 9):
        assert (zeros[distance:] * zeros[:-distance]).mean().abs().item() < 0.0015


def test_every_place_is_dropped_equally_often():
    torch.manual_seed(3)
    counts = (Dropout(0.5)(torch.ones(20_000, 7)) == 0).float().mean(0)
    torch.testing.assert_close(counts, torch.full((7,), 0.5), atol=0.02, rtol=0)


@pytest.mark.parametrize("shape", [(1,), (3,), (2, 3, 5), (0, 4)])
def test_any_shape_keeps_its_shape_and_type(shape):
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        dropped = Dropout(0.5)(torch.ones(shape, dtype=dtype))
        assert dropped.shape == shape and dropped.dtype == dtype


def test_eval_mode_and_probability_zero_change_nothing():
    x = torch.randn(4, 5)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)


def test_the_same_seed_drops_the_same():
    results = []
    for _ in range(2):
        torch.manual_seed(7)
        results.append(Dropout(0.5)(torch.ones(100)))
    assert torch.equal(*results)


def test_the_gradient_is_the_mask():
    x = torch.ones(1000, requires_grad=True)
    dropped = Dropout(0.25)(x)
    dropped.sum().backward()
    assert torch.equal(x.grad, dropped.detach())


def test_even_the_largest_probability_a_configuration_allows_is_finite():
    assert Dropout(0.9999999)(torch.ones(100)).isfinite().all()
