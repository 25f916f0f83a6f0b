"""The decoder's step without its modules: the same logits to the last bit, and nothing that a hook would miss."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from transformer.config import ModelConfig
from transformer.decoding.sampling import DecodingState, Greedy, decode_ids
from transformer.interpret.activations import hooks_installed
from transformer.model.fused_step import FusedStep, decoding_step
from transformer.model.transformer import Transformer

SHAPES = [
    {},
    {"norm": "pre"},
    {"activation": "gelu", "embedding_norm": True, "positions": "learned"},
    {"activation": "silu", "scale_embeddings": False, "output_bias": True, "norm": "pre"},
    {"share_embeddings": False, "target_vocab_size": 17},
]
SOURCES = [[5, 9, 8, 3], [4, 3], [7, 6, 9, 4, 10, 3]]


def made(seed: int = 3, **changed) -> Transformer:
    """A model of uneven shape with random weights, biases and gains, none of them at its first value."""
    torch.manual_seed(seed)
    config = ModelConfig(
        vocab_size=23, num_encoder_layers=1, num_decoder_layers=3, num_heads=3, d_model=24, d_ff=40, max_length=12
    )
    model = Transformer(dataclasses.replace(config, **changed)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


@torch.inference_mode()
@pytest.mark.parametrize("sources", [SOURCES[:1], SOURCES], ids=["one", "three"])
@pytest.mark.parametrize("changed", SHAPES, ids=str)
def test_its_logits_are_those_of_the_modules_to_the_last_bit(changed, sources):
    model = made(**changed)
    one, other = DecodingState(model, sources, 8), DecodingState(model, sources, 8)
    step = decoding_step(model)
    tokens = torch.tensor([[2, 6, 11, 4, 9, 13]] * len(sources)) + torch.arange(len(sources))[:, None]
    for newest in tokens.T:
        fused = step(newest, one.caches, one.source_mask)
        through_modules = model.step(newest[:, None], other.caches, other.source_mask)
        assert torch.equal(fused, through_modules)


@torch.inference_mode()
def test_a_decoder_with_a_hook_takes_its_steps_through_its_modules():
    model = made()
    seen = []
    for module in (
        model.decoder[1].cross_attention.core,
        model.decoder[2].feed_forward.inner,
        model.decoder_embedding_norm,
    ):
        with hooks_installed([(module, lambda module, inputs, output: seen.append(module))]):
            ids = decode_ids(model, SOURCES[:1], Greedy())
        assert seen == [module] * len(ids[0])
        seen.clear()
    assert decode_ids(model, SOURCES[:1], Greedy()) == ids


def test_another_threads_hooks_neither_slow_nor_change_a_step():
    model = made()
    with torch.inference_mode():
        expected = decode_ids(model, SOURCES, Greedy())
    with hooks_installed([(model.decoder[0].cross_attention.core, lambda module, inputs, output: output * 0)]):
        assert not isinstance(decoding_step(model), FusedStep)
        changed = decode_ids(model, SOURCES, Greedy())
        with ThreadPoolExecutor(1) as other:
            assert isinstance(other.submit(decoding_step, model).result(), FusedStep)
            assert other.submit(decode_ids, model, SOURCES, Greedy()).result() == expected != changed


@torch.inference_mode()
def test_a_weight_that_was_changed_is_the_one_that_is_used():
    model, newest = made(), torch.full((3,), 2)
    before = DecodingState(model, SOURCES, 8).step(newest)
    model.decoder[0].feed_forward.outer.weight.data = torch.randn(24, 40)
    state, other = DecodingState(model, SOURCES, 8), DecodingState(model, SOURCES, 8)
    after = state.step(newest)
    assert torch.equal(after, model.step(newest[:, None], other.caches, other.source_mask))
    assert not torch.allclose(after, before)


@torch.inference_mode()
def test_more_positions_than_the_model_has_are_refused():
    model = made()
    state = DecodingState(model, SOURCES[:1], 13)
    for _ in range(12):
        state.step(torch.tensor([4]))
    with pytest.raises(ValueError, match="13 positions asked for, the model has 12"):
        state.step(torch.tensor([4]))
