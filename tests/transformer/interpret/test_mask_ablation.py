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
IDS = ("source_ids", "decoder_input_ids")
CLOSE = {"atol": 2e-6, "rtol": 0}


@pytest.fixture(scope="module")
def sentences(translator):
    """Two sentences, the second longer on both sides: its source has 4 more tokens, its target 3."""
    short = translator.trace("red dog", target="rot Hund")
    long = translator.trace("old green bird house tree car", target="alt Vogel Haus Baum Wagen")
    assert len(short.source_ids) < len(long.source_ids) and len(short.decoder_input_ids) < len(long.decoder_input_ids)
    return short, long


@pytest.fixture(scope="module")
def runs(translator, sentences):
    return {
        disabled: run_masked(translator.model, translator.tokenizer, sentences, disabled) for disabled in DisabledMask
    }


@pytest.fixture(scope="module")
def masked(runs):
    return runs["nothing"]


def handmade_masks(sentences) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Make source padding, target padding and causal mask from the lengths alone."""
    source, target = (max(len(getattr(s, name)) for s in sentences) for name in ("source_ids", "decoder_input_ids"))
    real_source = torch.tensor([[n < len(s.source_ids) for n in range(source)] for s in sentences])[:, None, None, :]
    real_target = torch.tensor([[n < len(s.decoder_input_ids) for n in range(target)] for s in sentences])[
        :, None, None, :
    ]
    causal = torch.tensor([[key <= query for key in range(target)] for query in range(target)])
    return real_source, real_target, causal


def test_the_batch_is_padded_on_the_right_and_its_masks_say_where(masked, sentences):
    source, target = len(sentences[LONG].source_ids), len(sentences[LONG].decoder_input_ids)
    for padded, tokens, width in (
        (masked.source_tokens[SHORT], sentences[SHORT].source_tokens, source),
        (masked.decoder_input_tokens[SHORT], sentences[SHORT].decoder_input_tokens, target),
        (masked.target_tokens[SHORT], sentences[SHORT].target_tokens, target),
    ):
        assert padded == (*tokens, *["<pad>"] * (width - len(tokens)))
    real_source, real_target, causal = (mask.numpy() for mask in handmade_masks(sentences))
    np.testing.assert_array_equal(masked.source_mask, real_source)
    np.testing.assert_array_equal(masked.target_padding_mask, real_target)
    np.testing.assert_array_equal(masked.causal_mask, causal)
    np.testing.assert_array_equal(masked.target_mask, real_target & causal)
    assert masked.source_mask.shape == (2, 1, 1, source) and masked.target_mask.shape == (2, 1, target, target)


@pytest.mark.parametrize("number", [SHORT, LONG])
def test_beside_padding_each_sentence_is_as_alone(masked, sentences, translator, number):
    alone = record_one(translator.model, sentences[number].source_ids, sentences[number].decoder_input_ids)
    for kind in AttentionKind:
        expected = getattr(alone, kind).numpy()
        queries, keys = expected.shape[2:]
        weights = masked.attention(kind).weights[:, number]
        np.testing.assert_allclose(weights[:, :, :queries, :keys], expected, **CLOSE)
        assert (weights[:, :, :queries, keys:] == 0).all(), "nothing may go to padding"
    steps = len(sentences[number].decoder_input_ids)
    np.testing.assert_allclose(
        masked.target_probabilities[number, :steps], sentences[number].target_probabilities, **CLOSE
    )
    assert masked.best_tokens[number][:steps] == tuple(row[0] for row in sentences[number].candidate_tokens)


@pytest.mark.parametrize("disabled", DisabledMask)
def test_a_pass_is_the_models_forward_under_the_other_masks(runs, sentences, translator, disabled):
    padding, target_padding, causal = handmade_masks(sentences)
    masks = {
        "nothing": (padding, target_padding & causal),
        "causal": (padding, target_padding & torch.ones_like(causal)),
        "padding": (torch.ones_like(padding), causal),
    }
    source_mask, target_mask = masks[disabled]
    model, source, fed = translator.model, *(pad([getattr(s, name) for s in sentences], 0) for name in IDS)
    with torch.inference_mode():
        hidden = model.decode(fed, model.encode(source, source_mask), target_mask, source_mask)
        probabilities = model.output_projection(hidden).softmax(-1)
    following = pad([s.target_ids for s in sentences], 0)
    expected = probabilities.gather(-1, following[..., None])[..., 0].numpy()
    np.testing.assert_allclose(runs[disabled].target_probabilities, expected, **CLOSE)
    np.testing.assert_allclose(runs[disabled].best_probabilities, probabilities.amax(-1).numpy(), **CLOSE)
    if disabled != "nothing":
        assert np.abs(expected - runs["nothing"].target_probabilities)[SHORT, :3].max() > 1e-4, "it must show"


@pytest.mark.parametrize(("disabled", "kind"), [("causal", "decoder"), ("padding", "encoder"), ("padding", "cross")])
def test_leaked_weight_is_that_of_masked_cells_and_the_leakiest_head_has_the_most(runs, masked, disabled, kind):
    leaked = leaked_weights(masked, runs[disabled], kind, SHORT)
    weights = runs[disabled].attention(kind).weights[:, SHORT]
    closed = ~masked.attention(kind).unmasked[SHORT]
    rows = (masked.source_lengths if kind == "encoder" else masked.target_lengths)[SHORT]
    assert leaked.shape == (*weights.shape[:2], rows)
    for row in range(rows):
        np.testing.assert_allclose(leaked[..., row], weights[:, :, row, closed[row]].sum(-1), **CLOSE)
    assert (leaked[..., rows_that_may_leak(masked, runs[disabled], kind, SHORT)] > 0).all()
    assert leakiest_head(masked, runs[disabled], kind, SHORT) == np.unravel_index(
        leaked.sum(axis=-1).argmax(), leaked.shape[:2]
    )
    may_leak = rows_that_may_leak(masked, runs["causal"], "decoder", SHORT).tolist()
    assert may_leak == [True] * (masked.target_lengths[SHORT] - 1) + [False], "the last row has no later token"
    assert not leaked_weights(masked, masked, kind, SHORT).any(), "with the mask nothing leaks"
    assert leakiest_head(masked, runs["padding"], "cross", LONG) is None, "it has no padding to leak to"


def test_unknown_masks_heads_and_empty_batches_are_refused(translator, sentences, masked, runs):
    with pytest.raises(ValueError, match="disabled mask must be one of"):
        run_masked(translator.model, translator.tokenizer, sentences, "both")
    with pytest.raises(ValueError, match="expects sentences"):
        run_masked(translator.model, translator.tokenizer, [])
    with pytest.raises(ValueError, match="kind must be one of"):
        masked.attention("sideways")
    for index in ((2, 0, 0), (0, 3, 0), (0, 0, 4), (-1, 0, 0)):
        with pytest.raises(ValueError, match="must be in 0 to"):
            masked_head(masked, "decoder", *index)
    alone = run_masked(translator.model, translator.tokenizer, sentences[:1])
    with pytest.raises(ValueError, match="differ in size"):
        leaked_weights(masked, alone, "cross", SHORT)
