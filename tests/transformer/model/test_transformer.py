"""The whole model, against nn.Transformer."""

import pytest
import torch
from support.models import BATCH, SOURCE, TARGET, copy_layer, random_ids, small_config, small_model
from torch import nn

from transformer.model.attention import causal_mask
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
