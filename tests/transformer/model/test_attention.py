"""Scaled dot-product and multi-head attention, against the formula and against PyTorch's own."""

import math

import pytest
import torch
from support.models import BATCH, SOURCE, TARGET, attention_blocks, random_ids, small_model
from torch import nn

from transformer.model.attention import (
    MultiHeadAttention,
    ScaledDotProductAttention,
    attention_scores,
    attention_weights,
    causal_mask,
    padding_mask,
)
from transformer.model.names import AttentionKind

HEADS, D_K = 4, 6
D_MODEL = HEADS * D_K


def random(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def ours_and_torchs(seed: int = 1) -> tuple[MultiHeadAttention, nn.MultiheadAttention]:
    """Both kinds of multi-head attention in float64 with the same weights and biases."""
    torch.manual_seed(seed)
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


def test_scores_are_dot_products_over_the_root_of_d_k():
    query, key = random(BATCH, HEADS, TARGET, D_K), random(BATCH, HEADS, SOURCE, D_K, seed=2)
    scores = attention_scores(query, key)
    assert scores.shape == (BATCH, HEADS, TARGET, SOURCE)
    expected = sum(query[2, 1, 3, i] * key[2, 1, 4, i] for i in range(D_K)) / math.sqrt(D_K)
    assert scores[2, 1, 3, 4].item() == pytest.approx(expected.item())


def test_rows_of_attention_sum_to_one():
    weights = attention_weights(random(BATCH, HEADS, TARGET, D_K), random(BATCH, HEADS, SOURCE, D_K, seed=2))
    torch.testing.assert_close(weights.sum(-1), torch.ones(BATCH, HEADS, TARGET, dtype=torch.float64))
    assert (weights > 0).all()


def test_masked_cells_are_exactly_zero_and_the_rest_still_sums_to_one():
    mask = causal_mask(SOURCE)
    weights = attention_weights(random(BATCH, HEADS, SOURCE, D_K), random(BATCH, HEADS, SOURCE, D_K, seed=2), mask)
    assert (weights[..., ~mask] == 0).all()
    assert (weights[..., mask] > 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(BATCH, HEADS, SOURCE, dtype=torch.float64))


def test_padded_cells_are_exactly_zero_even_with_huge_scores():
    ids = torch.tensor([[5, 6, 7, 0, 0]])
    key = random(1, HEADS, 5, D_K)
    key[:, :, 3:] = 1e6
    weights = attention_weights(random(1, HEADS, TARGET, D_K).abs(), key, padding_mask(ids, 0))
    assert (weights[..., 3:] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, HEADS, TARGET, dtype=torch.float64))


def test_a_row_whose_every_key_is_masked_is_zero_and_not_nan():
    mask = torch.zeros(TARGET, SOURCE, dtype=torch.bool)
    query, key = random(BATCH, HEADS, TARGET, D_K), random(BATCH, HEADS, SOURCE, D_K, seed=2)
    assert (attention_weights(query, key, mask) == 0).all()
    assert (ScaledDotProductAttention()(query, key, key, mask) == 0).all()


@pytest.mark.parametrize("masked", [False, True])
def test_weights_times_value_equal_the_fused_core(masked):
    query, key = random(BATCH, HEADS, TARGET, D_K), random(BATCH, HEADS, SOURCE, D_K, seed=2)
    value = random(BATCH, HEADS, SOURCE, D_K, seed=3)
    mask = random(BATCH, 1, 1, SOURCE, seed=4) > -0.5 if masked else None
    expected = attention_weights(query, key, mask) @ value
    torch.testing.assert_close(ScaledDotProductAttention()(query, key, value, mask), expected)


def test_the_core_has_no_parameters():
    assert list(ScaledDotProductAttention().parameters()) == []


def test_self_attention_equals_torchs_multihead_attention():
    ours, theirs = ours_and_torchs()
    x, mask = random(BATCH, SOURCE, D_MODEL), causal_mask(SOURCE)
    expected, weights = theirs(x, x, x, attn_mask=~mask, average_attn_weights=False)
    torch.testing.assert_close(ours(x, x, mask), expected)
    query, key, _ = ours.project(x)
    torch.testing.assert_close(attention_weights(query, key, mask), weights)


def test_cross_attention_with_padding_equals_torchs_multihead_attention():
    ours, theirs = ours_and_torchs()
    x, memory = random(BATCH, TARGET, D_MODEL), random(BATCH, SOURCE, D_MODEL, seed=2)
    padded = torch.arange(SOURCE).expand(BATCH, SOURCE) >= torch.arange(BATCH)[:, None].clamp(min=1)
    expected, weights = theirs(x, memory, memory, key_padding_mask=padded, average_attn_weights=False)
    mask = ~padded[:, None, None, :]
    torch.testing.assert_close(ours(x, memory, mask), expected)
    key, _ = ours.project_memory(memory)
    torch.testing.assert_close(attention_weights(ours.project_query(x), key, mask), weights)


def test_gradients_equal_torchs_multihead_attention():
    ours, theirs = ours_and_torchs()
    x, memory = random(BATCH, TARGET, D_MODEL), random(BATCH, SOURCE, D_MODEL, seed=2)
    ours(x, memory).square().sum().backward()
    theirs(x, memory, memory)[0].square().sum().backward()
    torch.testing.assert_close(ours.query_key_value.weight.grad, theirs.in_proj_weight.grad)
    torch.testing.assert_close(ours.output.weight.grad, theirs.out_proj.weight.grad)


def test_one_product_for_all_three_equals_projecting_one_by_one():
    ours, _ = ours_and_torchs()
    x = random(BATCH, SOURCE, D_MODEL)
    query, key, value = ours.project(x)
    assert query.shape == (BATCH, HEADS, SOURCE, D_K)
    torch.testing.assert_close(ours.project_query(x), query)
    torch.testing.assert_close(ours.project_memory(x), (key, value))


def test_merge_undoes_split_and_head_h_owns_the_columns_from_h_d_k():
    ours, _ = ours_and_torchs()
    x = random(BATCH, SOURCE, D_MODEL)
    heads = ours.split(x)
    assert torch.equal(ours.merge(heads), x)
    assert torch.equal(heads[:, 2], x[:, :, 2 * D_K : 3 * D_K])


def test_num_heads_must_divide_d_model():
    with pytest.raises(ValueError, match="d_model=10 and num_heads=4"):
        MultiHeadAttention(10, 4)


@pytest.mark.parametrize("kind", AttentionKind)
@torch.inference_mode()
def test_output_recomputed_from_captured_tensors_equals_the_blocks_output(kind):
    """softmax(QK^T / sqrt(d_k)) V, concatenated, times W_O, plus its bias."""
    model = small_model().double()
    captured, outputs = [], []
    for block in attention_blocks(model, kind):
        block.core.register_forward_hook(lambda core, arguments, output: captured.append(arguments))
        block.output.register_forward_hook(lambda linear, arguments, output: outputs.append(output))
    model(random_ids(BATCH, SOURCE), random_ids(BATCH, TARGET, seed=2))
    blocks = attention_blocks(model, kind)
    assert len(captured) == len(outputs) == len(blocks)
    for block, (query, key, value, mask, *_), output in zip(blocks, captured, outputs, strict=True):
        scores = torch.einsum("bhqd,bhkd->bhqk", query, key) / math.sqrt(model.config.d_k)
        heads = scores.masked_fill(~mask, -math.inf).softmax(-1) @ value
        concatenated = torch.cat([heads[:, head] for head in range(model.config.num_heads)], dim=-1)
        torch.testing.assert_close(concatenated @ block.output.weight.T + block.output.bias, output)
