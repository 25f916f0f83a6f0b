"""Attributions of a predicted token: gradients, left-out tokens, value norms, and the correlation of two of them."""

import numpy as np
import pytest
import torch
from support.models import random_sources, record_one, small_model, unlike_model
from support.recorded import leave_one_out
from support.tolerance import near

from transformer.interpret import attribution
from transformer.interpret.activations import Request, record
from transformer.interpret.attention_block import block_parameters, record_stages
from transformer.interpret.attribution import gradient_times_input, lost_without_each, rank_correlation
from transformer.model.attention import causal_mask

SOURCE, FED = random_sources(7)[0], [2, 9, 8, 5, 4]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_gradient_is_that_of_a_small_step(norm):
    model, position, step = unlike_model(3, norm=norm).double(), 2, 1e-5
    measured = gradient_times_input(model, SOURCE, FED, 7)
    assert not any(parameter.grad is not None for parameter in model.parameters())
    before = float(record_one(model, SOURCE, FED).logits[-1].log_softmax(-1)[7])
    assert measured.log_probability == near(before)
    for name, ids, values in (("source", SOURCE, measured.source), ("target", FED, measured.prefix)):
        factors = 1 + step * (torch.arange(len(ids)) == position)[:, None]
        request = Request(change=((f"{name}_embedding", factors.mul),))
        after = float(record(model, [SOURCE], [FED], request).logits[0, -1].log_softmax(-1)[7])
        assert values.shape == (len(ids),)
        assert (after - before) / step == pytest.approx(values[position], rel=1e-2, abs=1e-4)


@torch.inference_mode()
@pytest.mark.parametrize("source", [SOURCE, SOURCE[:2], SOURCE[-1:]])
def test_a_token_that_is_left_out_is_masked_for_all_others(source):
    model = unlike_model(3)
    measured = leave_one_out(model, source, FED, 7)
    ids, fed = torch.tensor([source]), torch.tensor([FED])

    def log_p(source_mask, target_mask) -> float:
        hidden = model.decode(fed, model.encode(ids, source_mask), target_mask, source_mask)
        return float(model.output_projection(hidden)[0, -1].log_softmax(-1)[7])

    whole = log_p(None, causal_mask(len(FED)))
    assert measured.log_probability == near(whole)
    for position in range(len(source)):
        mask = torch.ones(1, 1, 1, len(source), dtype=torch.bool)
        mask[..., position] = False
        expected = whole - log_p(mask, causal_mask(len(FED))) if len(source) > 1 else np.nan
        assert measured.source[position] == near(expected, scale=whole)
    for position in range(len(FED) - 1):
        mask = causal_mask(len(FED)).clone()
        mask[position + 1 :, position] = False
        assert measured.prefix[position] == near(whole - log_p(None, mask), scale=whole)
    assert np.isnan(measured.prefix[-1])


def test_parts_of_any_size_give_the_same(monkeypatch):
    model, count, fed, outputs = unlike_model(3), len(SOURCE) + len(FED), FED[:3], [9, 8, 7]
    whole = leave_one_out(model, SOURCE, fed, 7)
    monkeypatch.setattr(attribution, "TOKENS_AT_ONCE", 3)
    stitched = leave_one_out(model, SOURCE, fed, 7)
    assert stitched.source == near(whole.source) and stitched.prefix == near(whole.prefix)
    losses = lost_without_each(model, SOURCE, fed, outputs)
    for step, output in enumerate(outputs):
        assert losses[step] == near(
            leave_one_out(model, SOURCE, fed[: step + 1], output).source, scale=whole.log_probability
        )
    assert not lost_without_each(model, SOURCE[-1:], fed, outputs).any(), "a single token stays"
    with pytest.raises(ValueError, match="positions must be in 0 to"):
        attribution.occlude(model, SOURCE, FED, 7, [count])


@pytest.mark.parametrize("method", [gradient_times_input, leave_one_out])
def test_a_contrast_is_one_token_less_the_other(method):
    """log P(a) - log P(b) is linear in both, and so is each method."""
    model = unlike_model()
    contrast, one, other = (method(model, SOURCE, FED, *tokens) for tokens in ((5, 11), (5,), (11,)))
    assert contrast.source == near(one.source - other.source, scale=one.source)
    assert contrast.prefix == near(one.prefix - other.prefix, scale=one.prefix)
    assert contrast.log_probability == near(one.log_probability - other.log_probability, scale=one.log_probability)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_weighted_value_vectors_add_up_to_the_blocks_output(kind):
    model = small_model(2)
    stages, parameters = record_stages(model, SOURCE, FED, kind, 1), block_parameters(model, kind, 1)
    vectors = attribution.transformed_values(stages, parameters)[0]  # heads keys d_model
    weighted = (stages.weights[0][..., None] * vectors[:, None]).sum(axis=0)  # queries keys d_model
    assert weighted.sum(axis=1) + parameters.b_output == near(stages.output[0])
    assert attribution.summed_value_norms(stages, parameters)[0] == near(np.linalg.norm(weighted, axis=-1))
    shares = attribution.shares(np.array([[0.1, 0.3], [0.0, 0.0]]))
    np.testing.assert_allclose(shares, [[0.25, 0.75], [0.0, 0.0]])


def test_rank_correlation_is_spearmans_over_known_pairs():
    nan = float("nan")
    values = np.array([1.0, 5.0, 3.0, 2.0, nan])
    assert rank_correlation(values, values**3) == pytest.approx(1)
    assert rank_correlation(values, -values) == pytest.approx(-1)
    assert rank_correlation(np.array([1.0, 2, 2, 4]), np.array([1.0, 3, 2, 4])) == pytest.approx(0.9487, abs=1e-4)
    assert rank_correlation(np.array([1.0, nan, 2, 3, 9]), np.array([1.0, 7, 2, 3, nan])) == pytest.approx(1)
    assert np.isnan(rank_correlation(np.array([1.0, 2, nan]), np.array([3.0, 2, 1]))), "three pairs are needed"
    assert np.isnan(rank_correlation(np.ones(5), values))
