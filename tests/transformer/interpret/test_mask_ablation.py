"""Padded batches with their masks and without one, against each sentence alone and a pass by hand."""

import numpy as np
import pytest
import torch
from support.models import record_one

from transformer.data.batching import pad
from transformer.interpret.mask_ablation import (
    DisabledMask,
    leaked_weights,
    leakiest_head,
    masked_head,
    rows_that_may_leak,
    run_masked,
)
from transformer.model.names import AttentionKind

SHORT, LONG = 0, 1
CLOSE = {"atol": 2e-6, "rtol": 0}


@pytest.fixture(scope="module")
def sentences(translator):
    """Two sentences, the second longer on both sides: its source has 4 more tokens, its target 3."""
    short = translator.trace("red dog", target="rot Hund")
    return short, translator.trace("old green bird house tree car", target="alt Vogel Haus Baum Wagen")


@pytest.fixture(scope="module")
def runs(translator, sentences):
    return {each: run_masked(translator.model, translator.tokenizer, sentences, each) for each in DisabledMask}


def masks_by_hand(sentences) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Make source padding, target padding and causal mask from the lengths alone."""
    lengths = [[len(each.source_ids) for each in sentences], [len(each.decoder_input_ids) for each in sentences]]
    source, target = (torch.arange(max(side)) < torch.tensor(side)[:, None, None, None] for side in lengths)
    return source, target, torch.arange(max(lengths[1])) <= torch.arange(max(lengths[1]))[:, None]


def test_the_masks_say_where_the_batch_is_padded(runs, sentences):
    masked, (source, target, causal) = runs["nothing"], (mask.numpy() for mask in masks_by_hand(sentences))
    np.testing.assert_array_equal(masked.source_mask, source)
    np.testing.assert_array_equal(masked.target_mask, target & causal)


@pytest.mark.parametrize("number", [SHORT, LONG])
def test_beside_padding_each_sentence_is_as_alone(runs, sentences, translator, number):
    masked, sentence = runs["nothing"], sentences[number]
    alone = record_one(translator.model, sentence.source_ids, sentence.decoder_input_ids)
    for kind in AttentionKind:
        expected = getattr(alone, kind).numpy()
        queries, keys = expected.shape[2:]
        weights = masked.attention(kind).weights[:, number]
        np.testing.assert_allclose(weights[:, :, :queries, :keys], expected, **CLOSE)
        assert (weights[:, :, :queries, keys:] == 0).all(), "nothing may go to padding"
    steps = len(sentence.decoder_input_ids)
    np.testing.assert_allclose(masked.target_probabilities[number, :steps], sentence.target_probabilities, **CLOSE)
    assert masked.best_tokens[number][:steps] == tuple(row[0] for row in sentence.candidate_tokens)


@pytest.mark.parametrize("disabled", DisabledMask)
@torch.inference_mode()
def test_a_pass_is_the_models_forward_under_the_other_masks(runs, sentences, translator, disabled):
    source, target, causal = masks_by_hand(sentences)
    source_mask = torch.ones_like(source) if disabled == "padding" else source
    target_mask = {"nothing": target & causal, "causal": target, "padding": causal}[disabled]
    names = ("source_ids", "decoder_input_ids", "target_ids")
    sources, fed, following = (pad([getattr(each, name) for each in sentences], 0) for name in names)
    model = translator.model
    hidden = model.decode(fed, model.encode(sources, source_mask), target_mask, source_mask)
    probabilities = model.output_projection(hidden).softmax(-1)
    expected = probabilities.gather(-1, following[..., None])[..., 0].numpy()
    np.testing.assert_allclose(runs[disabled].target_probabilities, expected, **CLOSE)
    np.testing.assert_allclose(runs[disabled].best_probabilities, probabilities.amax(-1).numpy(), **CLOSE)
    changed = np.abs(expected - runs["nothing"].target_probabilities)[SHORT, :3].max() > 1e-4
    assert changed == (disabled != "nothing")


@pytest.mark.parametrize(("disabled", "kind"), [("causal", "decoder"), ("padding", "encoder"), ("padding", "cross")])
def test_leaked_weight_is_that_of_masked_cells_and_the_leakiest_head_has_the_most(runs, disabled, kind):
    masked, run = runs["nothing"], runs[disabled]
    leaked, weights = leaked_weights(masked, run, kind, SHORT), run.attention(kind).weights[:, SHORT]
    rows = (masked.source_lengths if kind == "encoder" else masked.target_lengths)[SHORT]
    assert leaked.shape == (*weights.shape[:2], rows)
    for row in range(rows):
        closed = ~masked.attention(kind).unmasked[SHORT, row]
        np.testing.assert_allclose(leaked[..., row], weights[:, :, row, closed].sum(-1), **CLOSE)
    assert (leaked[..., rows_that_may_leak(masked, run, kind, SHORT)] > 0).all()
    most = np.unravel_index(leaked.sum(axis=-1).argmax(), leaked.shape[:2])
    assert leakiest_head(masked, run, kind, SHORT) == most
    assert not leaked_weights(masked, masked, kind, SHORT).any(), "with the mask nothing leaks"


def test_the_last_row_and_the_longest_sentence_have_nothing_to_leak_to(runs):
    may_leak = rows_that_may_leak(runs["nothing"], runs["causal"], "decoder", SHORT).tolist()
    assert may_leak == [True] * (len(may_leak) - 1) + [False]
    assert leakiest_head(runs["nothing"], runs["padding"], "cross", LONG) is None


def test_unknown_masks_heads_and_empty_batches_are_refused(translator, sentences, runs):
    model, tokenizer, masked = translator.model, translator.tokenizer, runs["nothing"]
    with pytest.raises(ValueError, match="disabled mask must be one of"):
        run_masked(model, tokenizer, sentences, "both")
    with pytest.raises(ValueError, match="expects sentences"):
        run_masked(model, tokenizer, [])
    with pytest.raises(ValueError, match="kind must be one of"):
        masked.attention("sideways")
    for index in ((2, 0, 0), (0, 3, 0), (0, 0, 4), (-1, 0, 0)):
        with pytest.raises(ValueError, match="must be in 0 to"):
            masked_head(masked, "decoder", *index)
    with pytest.raises(ValueError, match="differ in size"):
        leaked_weights(masked, run_masked(model, tokenizer, sentences[:1]), "cross", SHORT)
