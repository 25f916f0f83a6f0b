"""Scaled dot-product and multi-head attention, against PyTorch's, and masks (True = may attend)."""

import pytest
import torch
from support.models import BATCH, SOURCE, TARGET, random_ids, small_model
from support.tolerance import near
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from transformer.model.attention import (
    MultiHeadAttention,
    ScaledDotProductAttention,
    attention_weights,
    causal_mask,
    padding_mask,
    target_mask,
)

HEADS, D_K = 4, 6
D_MODEL = HEADS * D_K


def random(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def ours_and_torchs() -> tuple[MultiHeadAttention, nn.MultiheadAttention]:
    """Return both kinds of multi-head attention in float64 with the same weights and biases."""
    torch.manual_seed(1)
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True, dtype=torch.float64)
    ours = MultiHeadAttention(D_MODEL, HEADS).double()
    with torch.no_grad():
        theirs.in_proj_bias.normal_()
        theirs.out_proj.bias.normal_()
        ours.query_key_value.weight.copy_(theirs.in_proj_weight)
        ours.query_key_value.bias.copy_(theirs.in_proj_bias)
        ours.output.weight.copy_(theirs.out_proj.weight)
        ours.output.bias.copy_(theirs.out_proj.bias)
    return ours, theirs


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


def test_cross_attention_with_padding_and_its_gradients_equal_torchs_multihead_attention():
    ours, theirs = ours_and_torchs()
    x, memory = random(BATCH, TARGET, D_MODEL), random(BATCH, SOURCE, D_MODEL, seed=2)
    padded = torch.arange(SOURCE).expand(BATCH, SOURCE) >= torch.arange(BATCH)[:, None].clamp(min=1)
    expected, weights = theirs(x, memory, memory, key_padding_mask=padded, average_attn_weights=False)
    mask = ~padded[:, None, None, :]
    output = ours(x, memory, mask)
    torch.testing.assert_close(output, expected)
    key, _ = ours.project_memory(memory)
    torch.testing.assert_close(attention_weights(ours.project_query(x), key, mask), weights)
    output.square().sum().backward()
    expected.square().sum().backward()
    assert ours.query_key_value.weight.grad == near(theirs.in_proj_weight.grad)
    assert ours.output.weight.grad == near(theirs.out_proj.weight.grad)


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
