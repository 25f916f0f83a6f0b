"""Positions, embedding, feed-forward and both layers, against the formulas and against PyTorch's own layers."""

import math

import pytest
import torch
from support.models import BATCH, SOURCE, TARGET, copy_layer, random_ids, small_config
from support.tolerance import near
from torch import nn

from transformer.model.attention import causal_mask
from transformer.model.layers import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    PositionalEncoding,
    TokenEmbedding,
    multiplied_positions,
    sinusoidal_positions,
)

D_MODEL = 24


def random(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def ours_and_torchs(our_kind, torch_kind, norm: str):
    """Both kinds of layer in float64 with the same random weights, dropout off."""
    torch.manual_seed(1)
    theirs = torch_kind(D_MODEL, 4, 40, dropout=0.0, batch_first=True, norm_first=norm == "pre", dtype=torch.float64)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
        ours = our_kind(small_config(dropout=0.0, norm=norm)).double()
        copy_layer(ours, theirs)
    return ours, theirs


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_encoder_layer_equals_torchs(norm):
    ours, theirs = ours_and_torchs(EncoderLayer, nn.TransformerEncoderLayer, norm)
    x = random(BATCH, SOURCE, D_MODEL)
    padded = torch.arange(SOURCE).expand(BATCH, SOURCE) >= torch.arange(BATCH)[:, None].clamp(min=2)
    expected = theirs(x, src_key_padding_mask=padded)
    torch.testing.assert_close(ours(x, ~padded[:, None, None, :]), expected)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_decoder_layer_equals_torchs(norm):
    ours, theirs = ours_and_torchs(DecoderLayer, nn.TransformerDecoderLayer, norm)
    x, memory = random(BATCH, TARGET, D_MODEL), random(BATCH, SOURCE, D_MODEL, seed=2)
    padded = torch.arange(SOURCE).expand(BATCH, SOURCE) >= torch.arange(BATCH)[:, None].clamp(min=2)
    causal = causal_mask(TARGET)
    expected = theirs(x, memory, tgt_mask=~causal, memory_key_padding_mask=padded)
    torch.testing.assert_close(ours(x, memory, causal, ~padded[:, None, None, :]), expected)


def test_feed_forward_is_two_linear_maps_with_relu_between():
    feed_forward = FeedForward(D_MODEL, 40).double()
    x = random(BATCH, TARGET, D_MODEL)
    inner, outer = feed_forward.inner, feed_forward.outer
    expected = (x @ inner.weight.T + inner.bias).clamp(min=0) @ outer.weight.T + outer.bias
    torch.testing.assert_close(feed_forward(x), expected)


def test_embedding_is_scaled_by_the_root_of_d_model():
    embedding = TokenEmbedding(31, D_MODEL)
    ids = random_ids(BATCH, SOURCE)
    torch.testing.assert_close(embedding(ids), embedding.weight[ids] * math.sqrt(D_MODEL))


def test_positions_are_the_papers_sines_and_cosines():
    table = sinusoidal_positions(50, D_MODEL)
    assert table.shape == (50, D_MODEL)
    assert table.dtype == torch.float32
    for position, i in [(0, 0), (1, 0), (7, 3), (49, 11)]:
        angle = position / 10000 ** (2 * i / D_MODEL)
        assert table[position, 2 * i].item() == near(math.sin(angle))
        assert table[position, 2 * i + 1].item() == near(math.cos(angle))


@pytest.mark.parametrize("k", [1, 5, 13])
def test_positions_k_apart_differ_by_one_fixed_rotation_of_each_frequency(k):
    pairs = sinusoidal_positions(60, D_MODEL).unflatten(-1, (-1, 2)).double()
    angle = k * 10000 ** (-torch.arange(0, D_MODEL, 2, dtype=torch.float64) / D_MODEL)
    sine, cosine = pairs[:-k, :, 0], pairs[:-k, :, 1]
    rotated = torch.stack(
        [sine * angle.cos() + cosine * angle.sin(), cosine * angle.cos() - sine * angle.sin()], dim=-1
    )
    assert rotated == near(pairs[k:])


def test_the_dot_product_of_two_positions_depends_on_their_distance_alone():
    table = sinusoidal_positions(60, D_MODEL).double()
    products = table @ table.T
    for distance in (0, 1, 9, 40):
        diagonal = products.diagonal(distance)
        assert diagonal == near(diagonal[0].expand_as(diagonal))
    assert products[0, 0].item() == pytest.approx(D_MODEL / 2)


def test_an_odd_d_model_has_no_positions():
    with pytest.raises(ValueError, match="even"):
        sinusoidal_positions(10, 7)


def test_positional_encoding_adds_the_rows_from_its_start():
    encoding = PositionalEncoding(small_config(dropout=0.0))
    x = random(BATCH, TARGET, D_MODEL).float()
    torch.testing.assert_close(encoding(x, start=9), x + sinusoidal_positions(20, D_MODEL)[9:14])


def test_positional_encoding_takes_exactly_its_length_and_not_one_more():
    encoding = PositionalEncoding(small_config(dropout=0.0))
    assert encoding(torch.zeros(1, 20, D_MODEL)).shape == (1, 20, D_MODEL)
    with pytest.raises(ValueError, match="21 positions asked for, the model has 20"):
        encoding(torch.zeros(1, 1, D_MODEL), start=20)


def test_without_positions_nothing_is_added():
    encoding = PositionalEncoding(small_config(dropout=0.0, positions="none"))
    x = random(BATCH, TARGET, D_MODEL).float()
    assert encoding(x, start=9).equal(x)


def test_the_wrong_positions_multiply_where_the_formula_divides():
    table = multiplied_positions(20, D_MODEL)
    assert table.shape == (20, D_MODEL) and table.dtype == torch.float32
    for position, i in [(0, 0), (1, 0), (1, 5), (7, 3), (19, 11)]:
        angle = position * 10000 ** (2 * i / D_MODEL)  # up to 88,000: float64 keeps ten digits behind the point
        assert table[position, 2 * i].item() == near(math.sin(angle))
        assert table[position, 2 * i + 1].item() == near(math.cos(angle))
    encoding = PositionalEncoding(small_config(dropout=0.0, positions="multiplied"))
    x = random(BATCH, TARGET, D_MODEL).float()
    torch.testing.assert_close(encoding(x, start=9), x + table[9:14])


def test_the_table_of_positions_is_no_stored_weight():
    assert list(PositionalEncoding(small_config(dropout=0.0)).state_dict()) == []
