"""Rollout, norm-weighted attention and attribution against what can be computed by hand."""

import dataclasses

import numpy as np
import pytest
import torch
from support.models import random_sources, record_one, small_model, unlike_model
from support.tolerance import near

from transformer.interpret.attention_block import block_parameters, record_stages
from transformer.interpret.attribution import (
    concatenate,
    gradient_times_input,
    leave_one_out,
    occlude,
    parts_to_occlude,
    rank_correlation,
    shares,
    summed_value_norms,
    transformed_values,
)
from transformer.interpret.residual import ResidualStream, StackStream, SubLayer, record_residual_stream
from transformer.interpret.rollout import measured_mixing, roll_out
from transformer.model.attention import causal_mask

SOURCE, FED = random_sources(7)[0], [2, 9, 8, 5, 4]


def maps(seed: int = 1):
    recording = record_one(small_model(seed), SOURCE, FED)
    return [part.numpy() for part in (recording.encoder, recording.decoder, recording.cross)]


def test_rows_of_a_rollout_sum_to_1():
    rolled = roll_out(*maps())
    for part in (rolled.encoder, rolled.decoder, rolled.across):
        assert np.allclose(part.sum(axis=-1), 1) and (part >= 0).all()
    assert rolled.across.shape == (3, len(FED), len(SOURCE) + len(FED))
    assert ((rolled.source_share() > 0) & (rolled.source_share() < 1)).all()


def test_one_layer_by_hand():
    encoder, decoder, cross = maps()
    rolled = roll_out(encoder[:1], decoder[:1], cross[:1])
    own = (np.eye(len(SOURCE)) + encoder[0].mean(0)) / 2
    assert rolled.encoder[0] == near(own)
    prefix = (np.eye(len(FED)) + decoder[0].mean(0)) / 2
    assert rolled.across[0][:, : len(SOURCE)] == near(cross[0].mean(0) @ own / 2)
    assert rolled.across[0][:, len(SOURCE) :] == near(prefix / 2)
    assert np.allclose(rolled.source_share()[0], 0.5), "one layer mixes source and prefix half and half"


def test_identity_layers_change_nothing_and_later_tokens_stay_out():
    rolled = roll_out(*maps())
    assert not np.triu(rolled.decoder[-1], 1).any()
    assert not np.triu(rolled.across[-1][:, len(SOURCE) :], 1).any()
    alone = np.eye(4)[None, None]
    assert np.array_equal(roll_out(alone, alone, alone).encoder[0], np.eye(4))
    with pytest.raises(ValueError, match="same layers"):
        roll_out(alone, alone, np.concatenate([alone, alone]))


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_weighted_value_vectors_add_up_to_the_blocks_output(kind):
    model = small_model(2)
    stages, parameters = record_stages(model, SOURCE, FED, kind, 1), block_parameters(model, kind, 1)
    lengths = np.linalg.norm(transformed_values(stages, parameters), axis=-1)
    d_k, head, query, key = stages.d_k, 2, 3, 1
    rows = slice(head * d_k, (head + 1) * d_k)
    vector = stages.value[0, key, rows] @ parameters.w_output[rows]
    assert lengths[0, head, key] == pytest.approx(np.linalg.norm(vector), rel=1e-5)
    total = sum(
        stages.weights[0, h, query, k]
        * stages.value[0, k, h * d_k : (h + 1) * d_k]
        @ parameters.w_output[h * d_k : (h + 1) * d_k]
        for h in range(4)
        for k in range(stages.weights.shape[-1])
    )
    assert total + parameters.b_output == near(stages.output[0, query])
    together = summed_value_norms(stages, parameters)
    assert together[0, query, key] == pytest.approx(
        np.linalg.norm(
            sum(
                stages.weights[0, h, query, key]
                * stages.value[0, key, h * d_k : (h + 1) * d_k]
                @ parameters.w_output[h * d_k : (h + 1) * d_k]
                for h in range(4)
            )
        ),
        rel=1e-5,
    )
    apart = (stages.weights * lengths[:, :, None]).sum(axis=1)  # batch queries keys: if no two heads cancelled
    assert together.shape == apart.shape and (together <= apart + 1e-6).all()
    assert np.allclose(shares(together).sum(axis=-1), 1)
    assert not shares(np.zeros((2, 3))).any()


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_gradient_is_that_of_a_small_step(norm):
    model = unlike_model(3, norm=norm).double()
    found = gradient_times_input(model, SOURCE, FED, 7)
    assert not any(parameter.grad is not None for parameter in model.parameters())
    logits = record_one(model, SOURCE, FED).logits[-1].log_softmax(-1)
    assert found.log_probability == near(float(logits[7]))
    for side, table, ids, values in (
        ("source", model.source_embedding, SOURCE, found.source),
        ("prefix", model.target_embedding, FED, found.prefix),
    ):
        place, step = 2, 1e-5
        assert values.shape == (len(ids),), side
        grown = _log_probability_with(model, table, ids[place], 1 + step, place, side)
        assert (grown - float(logits[7])) / step == pytest.approx(values[place], rel=1e-2, abs=1e-4)


def _log_probability_with(model, table, id, factor, place, side) -> float:
    """log P(7) when the embedding at one place is stretched."""

    def stretch(module, arguments, output):
        stretched = output.clone()
        stretched[:, place] *= factor
        return stretched

    handle = table.register_forward_hook(stretch)
    try:
        with torch.no_grad():
            return float(model(torch.tensor([SOURCE]), torch.tensor([FED]))[0, -1].log_softmax(-1)[7])
    finally:
        handle.remove()


@torch.inference_mode()
def test_leaving_a_token_out_is_masking_it():
    model = unlike_model(3)
    found = leave_one_out(model, SOURCE, FED, 7)
    own = model(torch.tensor([SOURCE]), torch.tensor([FED]))[0, -1].log_softmax(-1)[7]
    assert found.log_probability == near(float(own))
    ids, place = torch.tensor([SOURCE]), 2
    mask = torch.ones(1, 1, 1, len(SOURCE), dtype=torch.bool)
    mask[..., place] = False
    hidden = model.decode(torch.tensor([FED]), model.encode(ids, mask), causal_mask(len(FED)), mask)
    expected = float(own - model.output_projection(hidden)[0, -1].log_softmax(-1)[7])
    assert found.source[place] == near(expected, scale=float(own))
    assert np.isnan(found.prefix[-1]) and np.isfinite(found.prefix[:-1]).all() and np.isfinite(found.source).all()


@torch.inference_mode()
def test_a_fed_token_that_is_left_out_is_read_by_none_but_itself():
    model, place = unlike_model(3), 1
    mask = causal_mask(len(FED)).clone()
    mask[place + 1 :, place] = False
    hidden = model.decode(torch.tensor([FED]), model.encode(torch.tensor([SOURCE]), None), mask, None)
    without = model.output_projection(hidden)[0, -1].log_softmax(-1)[7]
    found = leave_one_out(model, SOURCE, FED, 7)
    assert found.prefix[place] == near(found.log_probability - float(without), scale=float(without))


def test_a_token_alone_cannot_be_left_out():
    model = unlike_model(3)
    found = leave_one_out(model, [3], [2], 7)
    assert np.isnan(found.source).all() and np.isnan(found.prefix).all()


def test_rank_correlation_is_spearmans():
    first = np.array([1.0, 5.0, 3.0, 2.0, np.nan])
    assert rank_correlation(first, first**3) == pytest.approx(1)
    assert rank_correlation(first, -first) == pytest.approx(-1)
    assert rank_correlation(np.array([1.0, 2, 2, 4]), np.array([1.0, 3, 2, 4])) == pytest.approx(0.9487, abs=1e-4)
    assert np.isnan(rank_correlation(first[:2], first[:2])) and np.isnan(rank_correlation(np.ones(5), first))


def test_half_and_half_gives_the_source_the_same_share_at_every_step_whatever_the_weights():
    for seed in (1, 2):
        rolled = roll_out(*maps(seed))
        for layer, found in enumerate(rolled.source_share(), start=1):
            assert np.allclose(found, 1 - 0.5**layer)


def test_a_measured_mixing_is_the_length_of_what_is_added_over_both_lengths():
    model = small_model(2)
    mixing, stream = (
        measured_mixing(record_residual_stream(model, SOURCE, FED)),
        record_residual_stream(model, SOURCE, FED),
    )
    assert mixing.encoder.shape == (2, len(SOURCE)) and mixing.cross.shape == mixing.decoder.shape == (3, len(FED))
    block = stream.decoder.of_layer(1)[1]
    added, kept = np.linalg.norm(block.change[2]), np.linalg.norm(block.before[2])
    assert mixing.cross[1, 2] == pytest.approx(added / (added + kept), rel=1e-6)
    rolled = roll_out(*maps(2), mixing)
    for part in (rolled.encoder, rolled.decoder, rolled.across):
        assert np.allclose(part.sum(axis=-1), 1) and (part >= 0).all()
    assert np.ptp(rolled.source_share()[-1]) > 1e-4, "now steps differ"
    assert not np.triu(rolled.across[-1][:, len(SOURCE) :], 1).any()
    part, read = mixing.encoder[0][:, None], maps(2)[0][0].mean(0)
    by_hand = (1 - part) * np.eye(len(SOURCE)) + part * read
    assert rolled.encoder[0] == near(by_hand)


def test_vectors_of_length_0_mix_half_and_half():
    nothing = SubLayer("self_attention", 0, np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3)))
    crossing = dataclasses.replace(nothing, name="cross_attention")
    stack = StackStream(*np.zeros((3, 2, 3)), (nothing, crossing), np.zeros((2, 3)))
    assert (measured_mixing(ResidualStream(stack, stack, np.zeros((2, 5)))).cross == 0.5).all()


def test_tokens_are_left_out_the_same_in_parts_of_any_size():
    model = unlike_model(3)
    whole = leave_one_out(model, SOURCE, FED, 7)
    places = len(SOURCE) + len(FED)
    for size in (1, 5):
        parts = [occlude(model, SOURCE, FED, 7, range(at, min(at + size, places))) for at in range(0, places, size)]
        stitched = concatenate(parts, len(SOURCE))
        assert stitched.source == near(whole.source)
        assert stitched.prefix == near(whole.prefix)
    cut = parts_to_occlude(61, 30)
    assert [place for part in cut for place in part] == list(range(91)) and len(cut) > 3
    with pytest.raises(ValueError, match="positions must be in 0 to"):
        occlude(model, SOURCE, FED, 7, [places])
