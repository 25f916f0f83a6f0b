"""Attention, masks (True = may attend), positions and dropout, against PyTorch and the formulas."""

import math

import pytest
import torch
from support.models import BATCH, SOURCE, TARGET, random_ids, small_config, small_model
from support.tolerance import near
from torch.nn.attention import SDPBackend, sdpa_kernel

from transformer.model.attention import (
    ScaledDotProductAttention,
    attention_weights,
    causal_mask,
    padding_mask,
    target_mask,
)
from transformer.model.layers import Dropout, PositionalEncoding, sinusoidal_positions

D_MODEL = 24
HEADS, D_K = 4, 6


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


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_the_fused_core_is_the_weights_times_the_values_and_zero_where_all_keys_are_masked(masked, biased):
    query, key = random(BATCH, HEADS, TARGET, D_K), random(BATCH, HEADS, SOURCE, D_K, seed=2)
    value, bias = random(BATCH, HEADS, SOURCE, D_K, seed=3), random(1, HEADS, TARGET, SOURCE, seed=5)
    mask = random(BATCH, 1, TARGET, SOURCE, seed=4) > -0.5
    mask[1, 0, 2] = False
    key[~mask[:, :, :1].mT.expand(-1, HEADS, -1, D_K)] *= 1e3
    arguments = mask if masked else None, bias if biased else None, 0.3 if biased else None
    weights = attention_weights(query, key, *arguments)
    assert not masked or not weights[~mask.expand_as(weights)].any()
    torch.testing.assert_close(ScaledDotProductAttention()(query, key, value, *arguments), weights @ value)


def test_masks_are_true_on_words_and_on_the_present_and_the_past():
    assert padding_mask(torch.tensor([[5, 6, 0], [7, 0, 0]]), 0).tolist() == [
        [[[True, True, False]]],
        [[[True, False, False]]],
    ]
    assert padding_mask(torch.tensor([[0, 9]]), pad_id=9).tolist() == [[[[True, False]]]]
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    # The first token is never padding: some decoders begin with <pad>.
    causal_words = [[True, False, False], [True, True, False], [True, True, False]]
    assert target_mask(torch.tensor([[2, 6, 0], [0, 6, 0]]), 0).tolist() == [[causal_words], [causal_words]]


@pytest.mark.parametrize("backends", [[SDPBackend.FLASH_ATTENTION, SDPBackend.MATH], [SDPBackend.MATH]])
def test_a_source_of_all_padding_gives_no_nan_forwards_or_backwards(backends):
    model = small_model().train()
    source, target = random_ids(BATCH, SOURCE), random_ids(BATCH, TARGET, seed=2)
    source[3] = 0
    with sdpa_kernel(backends):
        logits = model(source, target)
        logits.sum().backward()
    assert logits.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
