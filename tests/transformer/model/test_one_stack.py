"""One stack: its laws on random weights, its file of 8 bits, and what does not take it."""

import copy
import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

import headlight as hl
from tests.support.models import small_config
from tests.support.tiny import VOCABULARY
from transformer.__main__ import main
from transformer.checkpoint import (
    WEIGHTS_FILE,
    Checkpoint,
    OneStackCheckpoint,
    find_checkpoints,
    load_checkpoint,
    load_one_stack,
    save_checkpoint,
)
from transformer.config import ModelKind, Norm
from transformer.decoding.one_stack import decode_greedily
from transformer.errors import CheckpointError, UserError
from transformer.files import load_weights
from transformer.interpret.one_stack import OneStackTranslator
from transformer.model.one_stack import OneStack, row_mask

TEXT, PREFIXES = "red dog.", (False, True)


@pytest.fixture(scope="module")
def folder(tokenizer, tmp_path_factory):
    """Return a folder of one stack with random weights, biases and norms in 8 bits."""
    torch.manual_seed(2)
    config = replace(small_config(vocab_size=VOCABULARY), num_encoder_layers=3, norm=Norm.PRE, max_length=64)
    model = OneStack(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    folder = tmp_path_factory.mktemp("stacks") / "random"
    save_checkpoint(folder, OneStackCheckpoint(model, tokenizer), torch.int8)
    return folder


@pytest.fixture(scope="module")
def one_stack(folder) -> OneStackTranslator:
    return hl.load(folder, "cpu")


@pytest.mark.parametrize("prefix", PREFIXES)
def test_rows_sum_to_one_and_read_nothing_later(one_stack, prefix):
    trace = one_stack.trace(TEXT, target="roter Hund.", prefix=prefix)
    size, source = len(trace.tokens), len(trace.source_tokens)
    later = ~np.tri(size, dtype=bool)
    later[:source, :source] &= not prefix
    assert trace.decoder.shape == (3, one_stack.model.config.num_heads, size, size)
    np.testing.assert_allclose(trace.decoder.sum(axis=-1), 1, atol=1e-5)
    assert not trace.decoder[..., later].any()
    assert (trace.decoder[..., ~later] > 0).all()


def test_the_shares_of_blocks_with_the_same_rows_add_up_to_one(one_stack):
    trace = one_stack.trace(TEXT, target="roter Hund.")
    blocks, source = trace.blocks(), len(trace.source_tokens)
    weights = trace.decoder[:, :, source:, :source].sum(axis=-1).mean(axis=-1)
    np.testing.assert_allclose(blocks["target on source"].shares, weights, atol=1e-6)
    for side in ("source", "target"):
        together = blocks[f"{side} on source"].shares + blocks[f"{side} on target"].shares
        np.testing.assert_allclose(together, 1, atol=1e-5)
    assert blocks["source on target"].weight == 0


@pytest.mark.parametrize("prefix", PREFIXES)
@torch.inference_mode()
def test_steps_with_a_cache_equal_one_pass(one_stack, prefix):
    model, ids, source = one_stack.model, torch.tensor([[5, 9, 7, 3, 2, 8, 6, 11]]), 4
    mask = row_mask(8, source, prefix=prefix)
    whole, caches = model(ids, mask), model.start_caches(1, 8)
    steps = [model.step(ids[:, :source], caches, mask[:source, :source])]
    steps += [model.step(ids[:, at : at + 1], caches) for at in range(source, 8)]
    torch.testing.assert_close(torch.stack(steps, dim=1), whole[:, source - 1 :], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("prefix", PREFIXES)
@torch.inference_mode()
def test_greedy_decoding_takes_the_most_probable_token_of_each_pass(one_stack, prefix):
    model, config, sources = one_stack.model, one_stack.model.config, [[5, 9, 3], [12, 30, 3]]
    for source, written in zip(sources, decode_greedily(model, sources, prefix=prefix), strict=True):
        row = [*source, config.begin_id]
        for token in written:
            with torch.inference_mode():
                logits = model(torch.tensor([row]), row_mask(len(row), 3, prefix=prefix))[0, -1]
            logits[list(config.never_chosen)] = -math.inf
            assert token == logits.argmax()
            row.append(token)
        assert written[-1] == config.end_id or len(written) == min(53, config.max_length - 3)


@torch.inference_mode()
def test_a_translation_ends_with_the_first_end_of_sentence(one_stack):
    model = copy.deepcopy(one_stack.model)
    end = model.embedding.weight[model.config.end_id]
    model.norm.weight.zero_()
    model.norm.bias.copy_(100 * end)
    model.embedding.weight.clamp_(-0.2, 0.2)
    assert decode_greedily(model, [[5, 9, 3], [12, 30, 3]]) == [[model.config.end_id]] * 2


def test_a_pass_in_numpy_from_the_file_agrees(one_stack, folder):
    trace = one_stack.trace(TEXT, target="roter Hund.")
    ids = [*trace.source_ids, one_stack.tokenizer.begin_id, *trace.target_ids[:-1]]
    attention, logits = numpy_pass(folder, ids)
    np.testing.assert_allclose(trace.decoder, attention, atol=1e-5)
    likely = softmax(logits[len(trace.source_ids) :])[np.arange(len(trace.target_ids)), trace.target_ids]
    np.testing.assert_allclose(trace.target_probabilities, likely, atol=1e-5)


def softmax(x):
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)


def numpy_pass(folder, ids):
    """Compute attention [layers, heads, tokens, tokens] and logits [tokens, vocab] in float64 from the file alone."""
    stored, shape = load_file(folder / WEIGHTS_FILE), json.loads((folder / "config.json").read_text())["model"]
    w = {
        name: value.astype(float) * (stored[f"{name}.scales"].astype(float)[:, None] if value.ndim == 2 else 1)
        for name, value in stored.items()
    }
    size, width, heads = len(ids), shape["d_model"], shape["num_heads"]
    angle = np.arange(size)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    x = w["embedding.embedding.weight"][ids] * width**0.5
    x[:, 0::2] += np.sin(angle)
    x[:, 1::2] += np.cos(angle)

    def norm(x, name):
        x = x - x.mean(axis=-1, keepdims=True)
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x, name):
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    maps = []
    for layer in (f"layers.{number}" for number in range(shape["num_encoder_layers"])):
        projected = linear(norm(x, f"{layer}.self_attention_residual.norm"), f"{layer}.self_attention.query_key_value")
        query, key, value = projected.reshape(size, 3, heads, -1).transpose(1, 2, 0, 3)
        scores = query @ key.transpose(0, 2, 1) / query.shape[-1] ** 0.5
        maps.append(softmax(np.where(np.tri(size, dtype=bool), scores, -np.inf)))
        merged = (maps[-1] @ value).transpose(1, 0, 2).reshape(size, -1)
        x = x + linear(merged, f"{layer}.self_attention.output")
        hidden = linear(norm(x, f"{layer}.feed_forward_residual.norm"), f"{layer}.feed_forward.inner")
        x = x + linear(np.maximum(hidden, 0), f"{layer}.feed_forward.outer")
    return np.array(maps), norm(x, "norm") @ w["embedding.embedding.weight"].T


def test_an_encoder_decoder_in_8_bits_is_read_within_half_a_step_of_each_row(translator, tmp_path):
    checkpoint = Checkpoint(translator.model, translator.tokenizer)
    save_checkpoint(tmp_path / "small", checkpoint, torch.int8)
    again = dict(load_checkpoint(tmp_path / "small").model.named_parameters())
    for name, weight in translator.model.named_parameters():
        step = weight.abs().amax(dim=-1, keepdim=True) / 127 if weight.dim() == 2 else torch.zeros(1)
        assert ((again[name] - weight).abs() <= 0.501 * step).all()


@pytest.mark.parametrize("flaw", ["no scales", "short", "infinite", "negative", "integers", "too many"])
def test_scales_that_do_not_fit_are_refused(folder, tmp_path, flaw):
    tensors, name = load_file(folder / WEIGHTS_FILE), "embedding.embedding.weight.scales"
    scales = tensors.pop(name)
    changed = {
        "short": scales[1:],
        "infinite": np.full_like(scales, np.inf),
        "negative": -scales - 1,
        "integers": scales.astype(np.int32),
        "too many": scales,
    }
    if flaw in changed:
        tensors[name] = changed[flaw]
    if flaw == "too many":
        tensors["norm.weight.scales"] = scales
    save_file(tensors, tmp_path / WEIGHTS_FILE)
    with pytest.raises(CheckpointError, match="is damaged: .*(without one valid scale per row|no matrix of 8 bits)"):
        load_weights(tmp_path / WEIGHTS_FILE)


def test_only_its_own_doors_take_one_stack(one_stack, folder, checkpoint_folder):
    assert find_checkpoints(folder.parent) == []
    assert find_checkpoints(folder.parent, ModelKind.ONE_STACK) == [folder]
    with pytest.raises(CheckpointError, match=r"is one stack, without an encoder: only `hl.load`"):
        hl.Translator.load(folder)
    with pytest.raises(CheckpointError, match="it is not one stack"):
        load_one_stack(checkpoint_folder)
    with pytest.raises(UserError, match="takes no beam: it decodes greedily"):
        one_stack.translate([TEXT], beam=4)
    with pytest.raises(UserError, match="takes no interventions"):
        one_stack.trace(TEXT, interventions=[hl.Zero("decoder", 0, 0)])


def test_the_command_stores_a_trained_state(one_stack, tmp_path, checkpoint_folder, capsys):
    like = json.loads((checkpoint_folder / "config.json").read_text())["model"]
    config = replace(one_stack.model.config, max_length=2 * like["max_length"])
    model = OneStack(config)
    model.set_weights(dict(one_stack.model.named_parameters()))
    torch.save({"model": model.state_dict(), "state": {"step": 3}}, tmp_path / "state.pt")
    command = ["shrink", str(tmp_path / "state.pt"), "--like", str(checkpoint_folder), "--out", str(tmp_path / "out")]
    assert main(command) == 0, capsys.readouterr().err
    traces = [each.trace(TEXT, target="roter Hund.") for each in (hl.load(tmp_path / "out", "cpu"), one_stack)]
    np.testing.assert_allclose(traces[0].decoder, traces[1].decoder, atol=1e-5)
    (tmp_path / "state.pt").write_bytes(b"no state")
    command[-1] += "2"
    assert main(command) == 1
    assert "holds more than tensors" in capsys.readouterr().err
