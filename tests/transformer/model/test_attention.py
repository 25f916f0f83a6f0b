"""Scaled dot-product attention against PyTorch's, and masks (True = may attend)."""

import pytest
import torch
from support.models import BATCH, SOURCE, TARGET, random_ids, small_model
from torch.nn.attention import SDPBackend, sdpa_kernel

from transformer.model.attention import (
    ScaledDotProductAttention,
    attention_weights,
    causal_mask,
    padding_mask,
    target_mask,
)

HEADS, D_K = 4, 6


def random(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


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
