"""Attention rollout and ALTI+ against their formulas, number by number and as products of whole matrices."""

import numpy as np
import pytest
import torch
from support.models import random_sources, record_one, small_model, unlike_model
from support.recorded import record_residual_stream
from support.tolerance import near

from transformer.interpret.attention_block import block_parameters, compute_stages, differences, record_stages
from transformer.interpret.residual import ResidualStream, StackStream, SubLayer
from transformer.interpret.rollout import _shares, alti, contributions, measured_mixing, multiply, roll_out

SOURCE, FED = random_sources(7)[0], [2, 9, 8, 5]
PARTS = ("change", "before")


def maps(seed: int = 1):
    recording = record_one(small_model(seed), SOURCE, FED)
    return [part.numpy() for part in (recording.encoder, recording.decoder, recording.cross)]


def assert_causal_shares(rolled) -> None:
    assert rolled.encoder.shape == (2, 7, 7) and rolled.decoder.shape == (3, 4, 4) and rolled.across.shape == (3, 4, 11)
    for part in (rolled.encoder, rolled.decoder, rolled.across):
        np.testing.assert_allclose(part.sum(axis=-1), 1, atol=1e-6)
        assert (part >= 0).all() and part.dtype == np.float64
    assert not np.triu(rolled.decoder, 1).any() and not np.triu(rolled.across[:, :, 7:], 1).any()


def test_half_and_half_gives_the_source_the_same_share_at_every_step():
    rolled = roll_out(*maps())
    assert_causal_shares(rolled)
    for layer, shares in enumerate(rolled.source_share(), start=1):
        assert np.allclose(shares, 1 - 0.5**layer)
    encoder, decoder, cross = maps()
    with pytest.raises(ValueError, match="same layers and rows"):
        roll_out(encoder, decoder, np.concatenate([cross, cross]))


def test_a_measured_mixing_is_the_length_of_the_addition_over_both_lengths():
    stream = record_residual_stream(small_model(2), SOURCE, FED)
    mixing = measured_mixing(stream)
    for stack, name, parts in (
        (stream.encoder, "self_attention", mixing.encoder),
        (stream.decoder, "self_attention", mixing.decoder),
        (stream.decoder, "cross_attention", mixing.cross),
    ):
        blocks = [block for block in stack.sublayers if block.name == name]
        added, before = (np.linalg.norm([getattr(block, part) for block in blocks], axis=-1) for part in PARTS)
        assert parts == near(added / (added + before))
    rolled = roll_out(*maps(2), mixing)
    assert_causal_shares(rolled)
    part, read = mixing.encoder[0][:, None], maps(2)[0][0].mean(0)
    assert rolled.encoder[0] == near((1 - part) * np.eye(len(SOURCE)) + part * read)


def test_a_mixing_follows_the_lengths_and_is_half_and_half_where_both_are_0():
    before, change = np.zeros((2, 2, 3))
    before[1, 0], change[1, 0] = 3, -1
    sublayers = [SubLayer(f"{kind}_attention", 0, before, change, before + change) for kind in ("self", "cross")]
    stack = StackStream(*np.zeros((3, 2, 3)), sublayers, np.zeros((2, 3)))
    assert measured_mixing(ResidualStream(stack, stack, np.zeros((2, 5)))).cross.tolist() == [[0.5, 0.25]]


def by_hand(stages, parameters, row, own_last):
    """Compute each token's contribution to one row by the formula of Ferrando et al., token by token."""
    p, (heads, keys) = parameters, (stages.weights.shape[1], stages.weights.shape[-1])
    values = (stages.memory[0] @ p.w_value + p.b_value).reshape(keys, heads, -1)
    w_output = p.w_output.reshape(heads, -1, p.w_output.shape[1])
    parts = [
        sum(stages.weights[0, head, row, key] * values[key, head] @ w_output[head] for head in range(heads))
        for key in range(keys)
    ]
    total = stages.residual[0, row] + p.b_output + sum(parts)
    if own_last:
        parts.append(stages.residual[0, row])
    else:
        parts[row] = parts[row] + stages.residual[0, row]
    whole = total
    if p.norm == "post":
        deviation = np.sqrt(total.var() + p.epsilon)
        parts = [p.gamma * (part - part.mean()) / deviation for part in parts]
        whole = p.gamma * (total - total.mean()) / deviation + p.beta
    far = np.array([np.abs(whole - part).sum() for part in parts])
    nearness = np.maximum(0, np.abs(whole).sum() - far)
    if not nearness.any():  # rare: the bias outweighs every token
        return np.eye(len(parts))[np.where([part.any() for part in parts], far, np.inf).argmin()]
    return nearness / nearness.sum()


RELATIVE = {"positions": "relative", "relative_buckets": 8, "relative_distance": 6}


@pytest.mark.parametrize("changes", [{"norm": "post"}, {"norm": "pre"}, RELATIVE], ids=str)
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_contributions_are_those_of_the_formula(changes, kind):
    model = unlike_model(**changes)
    parameters, shown = block_parameters(model, kind, 1), record_stages(model, SOURCE, FED, kind, 1)
    stages = compute_stages(shown.residual, shown.memory if kind == "cross" else None, shown.unmasked, parameters)
    for name, gap in differences(shown, stages).items():
        assert gap == near(0, scale=getattr(shown, name))
    shares = contributions(stages, parameters, reads_itself=kind != "cross")
    expected = [by_hand(stages, parameters, row, own_last=kind == "cross") for row in range(len(shares))]
    np.testing.assert_allclose(shares, expected, atol=1e-9)


def test_a_row_whose_parts_all_lead_away_is_the_nearest_ones():
    shares = _shares(
        np.array([[[5.0, -5.0], [0.0, -4.0], [0, 0]], [[1.0, 1.0], [-3.0, 0.0], [0, 0]]]),
        np.array([[-1.0, 1.0], [1.0, 1.0]]),
    )
    np.testing.assert_allclose(shares, [[0, 1, 0], [1, 0, 0]])


def test_layers_are_multiplied_as_matrices_over_both_sides():
    """Multiply once more, as one matrix over source and prefix together."""
    generator = np.random.default_rng(2)

    def stochastic(rows, columns):
        weights = generator.random((rows, columns))
        return weights / weights.sum(axis=1, keepdims=True)

    encoder = [stochastic(4, 4) for _ in range(3)]
    decoder, cross = [stochastic(3, 3) for _ in range(2)], [stochastic(3, 5) for _ in range(2)]
    memory = encoder[2] @ encoder[1] @ encoder[0]
    both, top = np.eye(7), np.eye(4, 7)
    for reads_prefix, reads_memory in zip(decoder, cross, strict=True):
        below = np.hstack([reads_memory[:, :4] @ memory, reads_memory[:, 4:] * reads_prefix])
        both = np.vstack([top, below]) @ both
    rolled = multiply(encoder, decoder, cross)
    np.testing.assert_allclose(rolled.across[-1], both[4:], atol=1e-12)
    np.testing.assert_allclose(rolled.encoder[-1], memory, atol=1e-12)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_alti_has_causal_shares_and_none_of_a_source_that_is_not_read(norm):
    model = unlike_model(norm=norm)
    assert_causal_shares(alti(model, SOURCE, FED))
    with torch.no_grad():
        for layer in model.decoder:
            layer.cross_attention.output.weight.zero_()
    assert alti(model, SOURCE, FED).source_share().max() < 1e-9
