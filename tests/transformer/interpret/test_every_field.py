"""Whole results of the engine, each field against what is computed here from the model's own pass."""

import numpy as np
import pytest
import torch
from support.models import random_sources, unlike_model
from support.tolerance import near

from transformer.errors import TooLongError
from transformer.interpret.attribution import gradient_times_input, leave_one_out, occlude, rank_correlation, shares
from transformer.interpret.residual import record_residual_stream
from transformer.interpret.rollout import half_and_half, measured_mixing, roll_out
from transformer.interpret.trace import attention_map
from transformer.model.attention import causal_mask

SOURCE, FED = random_sources(7)[0], [2, 9, 8, 5, 4]


@torch.inference_mode()
def test_every_field_of_a_trace_is_the_models(translator, tokenizer):
    text, target = "big red dog.", "Hund rot"
    trace = translator.trace(text, target=target)
    following = [*tokenizer.encode(target), tokenizer.end_id]
    source = [*tokenizer.encode(text), tokenizer.end_id]
    fed = [tokenizer.begin_id, *following[:-1]]
    logits = translator.model(torch.tensor([source]), torch.tensor([fed]))[0]
    probabilities = logits.softmax(-1)
    assert (trace.source_text, trace.target_text, trace.origin, trace.finished) == (text, target, "target", True)
    assert [piece.id for piece in trace.source_pieces] == source[:-1]
    assert (list(trace.source_ids), list(trace.decoder_input_ids), list(trace.target_ids)) == (source, fed, following)
    own = probabilities[range(len(following)), following]
    assert trace.target_probabilities == near(own)
    assert list(trace.target_ranks) == [1 + int((row > p).sum()) for row, p in zip(probabilities, own, strict=True)]
    assert trace.entropies == near(-(probabilities * probabilities.log()).sum(-1))
    best = probabilities.topk(trace.candidate_ids.shape[1], dim=-1)
    np.testing.assert_array_equal(trace.candidate_ids, best.indices)
    assert trace.candidate_probabilities == near(best.values)
    assert trace.candidate_tokens == tuple(tuple(map(tokenizer.piece_text, row)) for row in best.indices.tolist())
    cut = translator.trace(text, target=translator.hypotheses(text)[0])
    assert cut.finished == (cut.target_ids[-1] == tokenizer.end_id)
    assert translator.trace(text, target=cut.target_ids).target_ids == cut.target_ids


def test_ids_that_are_no_translation_are_refused(translator):
    too_many, size = [4] * (translator.model.config.max_length + 1), translator.model.config.output_size
    for ids, error in (([], ValueError), ([4, size], ValueError), ([-1], ValueError), (too_many, TooLongError)):
        with pytest.raises(error, match="target|ids must be"):
            translator.trace("big red dog.", target=ids)


@pytest.mark.parametrize("layer, head", [(0, 1), (1, None), (None, 0), (None, None)])
def test_every_field_of_a_map_says_where_it_is_from(translator, layer, head):
    trace = translator.trace("big red dog.", target="Hund rot")
    for kind in ("encoder", "decoder", "cross"):
        chosen = attention_map(trace, kind, layer, head)
        maps = trace.attention(kind)
        assert (chosen.kind, chosen.layer, chosen.head) == (kind, layer, head)
        assert (chosen.layers, chosen.heads) == maps.shape[:2]
        part = maps[slice(None) if layer is None else [layer]][:, slice(None) if head is None else [head]]
        assert np.nan_to_num(chosen.weights) == near(part.mean(axis=(0, 1)))
    with pytest.raises(ValueError, match="^layer must be"):
        attention_map(trace, "cross", 99, 0)
    with pytest.raises(ValueError, match="^head must be"):
        attention_map(trace, "cross", 0, 99)


def test_rank_correlation_counts_only_pairs_that_are_known():
    nan = float("nan")
    assert rank_correlation(np.array([1.0, 2, 3]), np.array([3.0, 2, 1])) == pytest.approx(-1), "three are enough"
    assert np.isnan(rank_correlation(np.array([1.0, 2, nan]), np.array([3.0, 2, 1])))
    mixed = rank_correlation(np.array([1.0, nan, 2, 3, 9]), np.array([1.0, 7, 2, 3, nan]))
    assert mixed == pytest.approx(1)
    assert np.isnan(rank_correlation(np.ones(4), np.arange(4.0)))


@torch.inference_mode()
@pytest.mark.parametrize("source", [SOURCE, SOURCE[:2]])
def test_leaving_out_is_masking_for_all_others_in_a_source_of_any_length(source):
    model = unlike_model(3)
    found = leave_one_out(model, source, FED, 7)
    ids, fed = torch.tensor([source]), torch.tensor([FED])

    def log_p(source_mask, target) -> float:
        hidden = model.decode(fed, model.encode(ids, source_mask), target, source_mask)
        return float(model.output_projection(hidden)[0, -1].log_softmax(-1)[7])

    own = log_p(None, causal_mask(len(FED)))
    for place in range(len(source)):
        mask = torch.ones(1, 1, 1, len(source), dtype=torch.bool)
        mask[..., place] = False
        assert found.source[place] == near(own - log_p(mask, causal_mask(len(FED))), scale=own)
    for place in range(len(FED) - 1):
        target = causal_mask(len(FED)).clone()
        for row in range(place + 1, len(FED)):
            target[row, place] = False
        assert found.prefix[place] == near(own - log_p(None, target), scale=own)
    alone = occlude(model, source, FED, 7, [len(source)])
    assert alone.log_probability == near(own) and alone.drops.shape == (1,)


def test_the_gradient_needs_no_gradients_of_the_weights():
    model = unlike_model(3)
    expected = gradient_times_input(model, SOURCE, FED, 7)
    for weight in model.parameters():
        weight.requires_grad_(False)
    found = gradient_times_input(model, SOURCE, FED, 7)
    assert found.source == near(expected.source)
    assert found.prefix == near(expected.prefix)
    assert found.source.shape == (len(SOURCE),) and found.prefix.shape == (len(FED),)


def test_rollout_and_shares_are_computed_in_float64_whatever_they_are_given():
    generator = np.random.default_rng(1)

    def maps(queries: int, keys: int) -> np.ndarray:
        weights = generator.random((2, 3, queries, keys))
        return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)

    given = maps(4, 4), maps(3, 3), maps(3, 4)
    rolled = roll_out(*given)
    assert {part.dtype for part in (rolled.encoder, rolled.decoder, rolled.across)} == {np.dtype(np.float64)}
    exact = roll_out(*(part.astype(np.float64) for part in given), half_and_half(*given))
    np.testing.assert_allclose(rolled.across, exact.across, atol=1e-15)
    assert rolled.source_share().shape == (2, 3)
    with pytest.raises(ValueError, match="same layers and rows"):
        roll_out(maps(4, 4), maps(3, 3), maps(2, 4))
    stream = record_residual_stream(unlike_model(3), SOURCE, FED)
    mixing = measured_mixing(stream)
    blocks = [block for block in stream.encoder.sublayers if block.name == "self_attention"]
    for layer, block in enumerate(blocks):
        for token in range(len(SOURCE)):
            added, kept = (sum(float(x) ** 2 for x in part[token]) ** 0.5 for part in (block.change, block.before))
            assert mixing.encoder[layer, token] == pytest.approx(added / (added + kept))
    assert mixing.encoder.dtype == np.float64
    np.testing.assert_allclose(shares(np.array([[0.1, 0.3], [0.0, 0.0]])), [[0.25, 0.75], [0.0, 0.0]])
