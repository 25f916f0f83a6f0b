"""The whole model against nn.Transformer, and parts of T5's models against formulas and in every kind of pass."""

import json

import numpy as np
import pytest
import torch
from support.models import BATCH, LIKE_T5, SOURCE, TARGET, copy_layer, random_ids, small_config, small_model
from torch import nn
from transformers.models.t5.modeling_t5 import T5Attention

from transformer.checkpoint import load_checkpoint
from transformer.interpret.relative_positions import relative_bias
from transformer.model.attention import causal_mask, distance_ranges
from transformer.model.fused_step import decoding_step, is_covered
from transformer.model.layers import sinusoidal_positions
from transformer.model.transformer import Transformer


def torchs_logits(ours: Transformer, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the logits of nn.Transformer with random weights, which are copied into `ours`."""
    config = ours.config
    torch.manual_seed(3)
    layers = (config.num_encoder_layers, config.num_decoder_layers)
    options = {"dropout": 0.0, "batch_first": True, "norm_first": config.norm == "pre", "dtype": torch.float64}
    theirs = nn.Transformer(config.d_model, config.num_heads, *layers, config.d_ff, **options)
    if config.norm == "post":  # PyTorch adds a last norm there too, which the paper has not
        theirs.encoder.norm = theirs.decoder.norm = None
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
        for stack in ("encoder", "decoder"):
            for layer, their_layer in zip(getattr(ours, stack), getattr(theirs, stack).layers, strict=True):
                copy_layer(layer, their_layer)
        if config.norm == "pre":
            theirs.encoder.norm.load_state_dict(ours.encoder_norm.state_dict())
            theirs.decoder.norm.load_state_dict(ours.decoder_norm.state_dict())

    def embed(ids: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return weight[ids] * config.d_model**0.5 + sinusoidal_positions(ids.shape[1], config.d_model).double()

    padded = source == config.pad_id
    hidden = theirs(
        embed(source, ours.source_embedding.weight),
        embed(target, ours.target_embedding.weight),
        tgt_mask=~causal_mask(target.shape[1]),
        src_key_padding_mask=padded,
        memory_key_padding_mask=padded,
        tgt_key_padding_mask=target == config.pad_id,
    )
    return hidden @ ours.output_projection.weight.T


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("share", [True, False])
def test_the_whole_model_equals_nn_transformer(norm, share):
    ours = small_model(norm=norm, share_embeddings=share, dropout=0.0).double()
    source, target = random_ids(BATCH, SOURCE), random_ids(BATCH, TARGET, seed=2)
    source[1, 4:], source[6, 2:], target[2, 3:] = 0, 0, 0
    expected = torchs_logits(ours, source, target)
    logits = ours(source, target)
    words = target != 0
    torch.testing.assert_close(logits[words], expected[words])


def test_shared_embeddings_are_one_matrix_that_begins_with_the_spread_that_brings_them_to_one():
    torch.manual_seed(1)
    shared, separate = (Transformer(small_config(vocab_size=2000, share_embeddings=share)) for share in (True, False))
    assert shared.output_projection.weight is shared.source_embedding.weight is shared.target_embedding.weight
    assert separate.count_parameters() - shared.count_parameters() == 2 * 2000 * 24
    assert (shared.source_embedding.weight.std() * 24**0.5).item() == pytest.approx(1.0, rel=0.05)


EVERY = pytest.mark.parametrize("name", LIKE_T5)


@pytest.mark.parametrize("both_ways", [True, False])
@pytest.mark.parametrize(("count", "furthest"), [(32, 128), (8, 11), (64, 33)])
def test_each_distance_is_in_the_range_that_t5_has_it_in(count, furthest, both_ways):
    distances = torch.arange(-400, 401)
    expected = T5Attention._relative_position_bucket(distances, both_ways, count, furthest)
    assert torch.equal(distance_ranges(distances, count, furthest, both_ways=both_ways), expected)


@EVERY
@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_the_bias_of_two_positions_is_that_of_their_distance(name, stack):
    model = small_model(**LIKE_T5[name])
    by_distance, bias = relative_bias(model, stack).numbers, getattr(model, f"{stack}_relative")(5, 7)
    heads, middle = model.config.num_heads, model.config.max_length - 1
    assert by_distance.shape == (heads, 2 * middle + 1) and bias.shape == (1, heads, 5, 7)
    for query, key in np.ndindex(5, 7):
        np.testing.assert_array_equal(bias[0, :, query, key].detach(), by_distance[:, middle + key - (query + 2)])
    after = by_distance[:, middle:]
    assert (after == after[:, :1]).all() == (stack == "decoder")


@EVERY
@torch.inference_mode()
def test_a_step_is_the_last_row_of_the_whole_pass(name):
    model = small_model(**LIKE_T5[name]).double()
    source, target = random_ids(2, 6), random_ids(2, 5, seed=2)
    assert not is_covered(model.config) and is_covered(small_model().config)
    caches, step = model.start_caches(model.encode(source, None), 5), decoding_step(model)
    logits = [step(target[:, at], caches, None) for at in range(5)]
    torch.testing.assert_close(torch.stack(logits, 1), model(source, target))
    caches = model.start_caches(model.encode(source, None), 5)
    model.step(target[:, :2], caches, None)
    torch.testing.assert_close(model.step(target[:, 2:], caches, None), logits[-1])


def test_an_older_checkpoint_loads_unchanged(checkpoint_folder):
    before, path = load_checkpoint(checkpoint_folder).model, checkpoint_folder / "config.json"
    stored = json.loads(path.read_text())
    later = ("relative_", "head_size", "scale_s", "scale_o", "bias", "norm_", "feed_forward", "separate_output")
    stored["model"] = {name: value for name, value in stored["model"].items() if not name.startswith(later)}
    path.write_text(json.dumps(stored))
    after = load_checkpoint(checkpoint_folder).model
    assert after.config == before.config and len(stored["model"]) == 22
    assert torch.equal(after(random_ids(1, 6), random_ids(1, 5)), before(random_ids(1, 6), random_ids(1, 5)))
