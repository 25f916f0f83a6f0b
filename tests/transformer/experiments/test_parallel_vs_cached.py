"""What the page of questions measures and counts."""

import pytest
import torch
from support.small import random_sources, small_config, small_model, unlike_model

from transformer.experiments.attention import fully_masked_row
from transformer.experiments.training import at_once, compare_parallel_and_cached, step_by_step
from transformer.interpret.parameters import norm_parameters, parameters_at
from transformer.model.transformer import Transformer


def test_one_pass_and_many_steps_give_the_same_logits():
    model, source, fed = unlike_model(3), random_sources(7)[0], [2, 9, 8, 5, 4]
    measured = compare_parallel_and_cached(model, source, fed)
    assert len(measured.parallel) == len(measured.cached) == 5 and min(measured.parallel + measured.cached) > 0
    assert measured.difference < 1e-4
    with torch.inference_mode():
        memory, target = model.encode(torch.tensor([source]), None), torch.tensor([fed])
        expected = model(torch.tensor([source]), target)[0]
        assert torch.allclose(at_once(model, target, memory), expected, atol=1e-5)
        assert torch.allclose(step_by_step(model, target, memory), expected, atol=1e-4)


@pytest.mark.parametrize(("tokens", "rounds"), [(80, 5), (133, 3), (401, 1)])
def test_many_steps_are_taken_in_fewer_rounds(tokens, rounds):
    model = small_model(2, max_length=401)
    measured = compare_parallel_and_cached(model, random_sources(7)[0], [2] * tokens)
    assert len(measured.parallel) == len(measured.cached) == rounds


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("share_embeddings", [True, False])
def test_parameters_are_counted_as_the_model_has_them(norm, share_embeddings):
    config = small_config(norm=norm, share_embeddings=share_embeddings)
    counts = parameters_at(config, (24, 48, 50))
    assert set(counts) == {24, 48}, "4 heads do not divide 50"
    assert counts[24] == Transformer(config).count_parameters()
    wider = small_config(norm=norm, share_embeddings=share_embeddings, d_model=48, d_ff=80)
    assert counts[48] == Transformer(wider).count_parameters()


def test_every_layer_norm_is_there():
    model = small_model(2, norm="pre")
    found = norm_parameters(model)
    assert len(found) == 2 * 2 + 3 * 3 + 2 and all(gamma.shape == beta.shape == (24,) for _, gamma, beta in found)


def test_a_fully_masked_row_three_ways():
    row = fully_masked_row([0.3, -2.0, 5.0])
    assert all(value != value for value in row.with_infinity)
    assert row.with_large_number == pytest.approx((1 / 3,) * 3)
    assert row.fused == (0.0, 0.0, 0.0)
