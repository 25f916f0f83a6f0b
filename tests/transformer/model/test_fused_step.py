"""Encoding and steps without modules: the logits of the modules, and every hook is called."""

import dataclasses

import pytest
import torch
from support.tolerance import near

from transformer.config import ModelConfig
from transformer.decoding.sampling import DecodingState, Greedy, decode_ids
from transformer.interpret.activations import hooks_installed
from transformer.model import fused_step
from transformer.model.attention import ROOM, padding_mask
from transformer.model.fused_step import FusedStep, decoding_step
from transformer.model.linear import padded
from transformer.model.transformer import Transformer

SHAPES = [
    {},
    {"norm": "pre"},
    {"activation": "gelu", "embedding_norm": True, "positions": "learned"},
    {"activation": "silu", "scale_embeddings": False, "output_bias": True, "norm": "pre"},
    {"share_embeddings": False, "target_vocab_size": 17},
]
SOURCES = [[5, 9, 8, 3], [4, 3], [7, 6, 9, 4, 10, 3]]
MANY = [[4 + (3 * row + at) % 13 for at in range(1 + row * 5 % 7)] + [3] for row in range(21)]


def made(seed: int = 3, **changed) -> Transformer:
    """Return a model of uneven shape, no weight, bias or gain at its first value."""
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


def refuse(*arguments, **named):
    """Stand in for a path that must not be taken."""
    raise AssertionError


def through_modules(model, sources, capacity):
    """Return the source mask and the caches that the modules make of a batch with padding."""
    ids = torch.tensor([row + [0] * (max(map(len, sources)) - len(row)) for row in sources])
    mask = padding_mask(ids, 0)
    memory = model.encode(ids, mask)
    return mask, model.start_caches(memory, capacity)


@torch.inference_mode()
@pytest.mark.parametrize("sources", [SOURCES[:1], MANY, 17 * SOURCES[:1]], ids=["1", "21", "alike"])
@pytest.mark.parametrize("changed", SHAPES, ids=str)
def test_sentences_side_by_side_are_encoded_as_with_padding_and_attend_by_products(changed, sources, monkeypatch):
    """Their logits are compared before the cache has grown and after it."""
    model, length = made(max_length=40, **changed), 2 * ROOM + 3
    mask, caches = through_modules(model, sources, length)
    tokens = torch.arange(length) * 5 % 11 + 4 + torch.arange(len(sources))[:, None] % 3
    expected = [model.step(newest[:, None], caches, mask) for newest in tokens.T]
    monkeypatch.setattr(model, "encode", refuse)
    state = DecodingState(model, sources, length)
    if len(sources) > 1:
        monkeypatch.setattr(fused_step.F, "scaled_dot_product_attention", refuse)
    for fused_cache, cache in zip(state.caches, caches, strict=True):
        for name in ("memory_key", "memory_value"):
            one, other = getattr(fused_cache, name), getattr(cache, name)
            real = mask.squeeze(2).expand(-1, one.shape[1], -1)
            assert one.shape == other.shape and one[real] == near(other[real])
    for newest, logits in zip(tokens.T, expected, strict=True):
        assert state.step(newest) == near(logits)


def test_a_batch_is_translated_as_each_sentence_alone_and_shrinks_to_sizes_that_products_like(monkeypatch):
    model, sizes, hidden = made(max_length=70), [], FusedStep.hidden  # each ends at its own limit at the latest
    alone = [decode_ids(model, [source], Greedy())[0] for source in MANY]
    monkeypatch.setattr(
        FusedStep, "hidden", lambda step, tokens, *rest: sizes.append(len(tokens)) or hidden(step, tokens, *rest)
    )
    assert decode_ids(model, MANY, Greedy()) == alone
    running = [sum(len(ids) > step for ids in alone) for step in range(max(map(len, alone)))]
    assert sizes == [min(len(MANY), padded(rows)) for rows in running]
    assert len(set(sizes)) > 2


@torch.inference_mode()
def test_a_stack_with_a_hook_is_run_through_its_modules():
    model = made()
    expected = decode_ids(model, SOURCES[:1], Greedy())
    decoder = model.decoder[1].cross_attention.core, model.decoder[2].feed_forward.inner, model.decoder_embedding_norm
    for module in (model.encoder_input, model.encoder[0].self_attention.core, model.encoder_norm, *decoder):
        calls = []
        with hooks_installed([(module, lambda module, inputs, output, calls=calls: calls.append(module))]):
            assert isinstance(decoding_step(model), FusedStep) == (module not in decoder)
            assert decode_ids(model, SOURCES[:1], Greedy()) == expected
        assert calls == [module] * (len(expected[0]) if module in decoder else 1)
