"""Positions and dropout, against the formulas."""

import math

import pytest
import torch
from support.models import BATCH, TARGET, small_config
from support.tolerance import near

from transformer.model.layers import (
    Dropout,
    PositionalEncoding,
    sinusoidal_positions,
)

D_MODEL = 24


def random(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_positional_encoding_takes_exactly_its_length_and_not_one_more():
    encoding = PositionalEncoding(small_config(dropout=0.0))
    assert encoding(torch.zeros(1, 20, D_MODEL)).shape == (1, 20, D_MODEL)
    with pytest.raises(ValueError, match="21 positions asked for, the model has 20"):
        encoding(torch.zeros(1, 1, D_MODEL), start=20)
    with pytest.raises(ValueError, match="even"):
        sinusoidal_positions(10, 7)


@pytest.mark.parametrize(("positions", "sign"), [("sinusoidal", -1), ("multiplied", 1), ("none", None)])
def test_positions_are_the_papers_sines_and_cosines_or_those_of_the_slip_from_a_start(positions, sign):
    """The slip multiplies by 10000^(2i/d_model): angles up to 88,000, of which float64 keeps ten decimals."""
    encoding = PositionalEncoding(small_config(dropout=0.0, positions=positions))
    table, x = encoding(torch.zeros(1, 20, D_MODEL))[0], random(BATCH, TARGET, D_MODEL).float()
    for position, i in [(0, 0), (1, 0), (1, 5), (7, 3), (19, 11)]:
        if sign is not None:
            angle = position * 10000 ** (sign * 2 * i / D_MODEL)
            assert table[position, 2 * i : 2 * i + 2] == near([math.sin(angle), math.cos(angle)])
    assert sign is not None or not table.any()
    torch.testing.assert_close(encoding(x, start=9), x + table[9:14])
    assert list(encoding.state_dict()) == []


@pytest.mark.parametrize("p", [0.1, 0.3, 0.75])
def test_the_share_of_zeros_is_p_and_the_mean_is_preserved(p):
    torch.manual_seed(1)
    x = torch.ones(1000, 1000, requires_grad=True)
    dropped = Dropout(p)(x)
    dropped.sum().backward()
    assert torch.equal(x.grad, dropped), "the gradient is the mask"
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


@pytest.mark.parametrize("shape", [(3,), (2, 3, 5), (0, 4)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_shape_and_type_stay_and_without_dropout_all_values(shape, dtype):
    x = torch.ones(shape, dtype=dtype)
    dropped = Dropout(0.9999999)(x)  # the largest probability that a configuration allows
    assert dropped.shape == shape and dropped.dtype == dtype and dropped.isfinite().all()
    assert torch.equal(Dropout(0.5).eval()(x), x) and torch.equal(Dropout(0.0)(x), x)
