"""ALTI+ against its formula by hand on the toy block, and over a whole model."""

import numpy as np
import pytest
import torch
from support.models import random_sources, unlike_model
from support.traces import loaded, trace_of

from transformer.config import Norm
from transformer.experiments.attention import ToyShape, toy_numbers
from transformer.interpret.attention_block import block_parameters, compute_stages, record_stages
from transformer.interpret.rollout import _shares, alti, contributions, multiply

SOURCE, FED = random_sources(7)[0], [2, 9, 8, 5]


def by_hand(stages, parameters, row, own_last):
    """The formula of Ferrando et al., number by number: what each token contributes to one row."""
    p, d_model = parameters, stages.residual.shape[-1]
    heads, keys = stages.weights.shape[1], stages.weights.shape[-1]
    width = d_model // heads
    total = stages.residual[0, row] + p.b_output
    parts = []
    for key in range(keys):
        vector = np.zeros(d_model)
        for head in range(heads):
            own = slice(head * width, (head + 1) * width)
            value = stages.memory[0, key] @ p.w_value[:, own] + p.b_value[own]
            vector += stages.weights[0, head, row, key] * (value @ p.w_output[own])
        total = total + vector
        parts.append(vector)
    if own_last:
        parts.append(stages.residual[0, row])
    else:
        parts[row] = parts[row] + stages.residual[0, row]
    whole = total
    if p.norm == Norm.POST:
        deviation = np.sqrt(sum((x - total.mean()) ** 2 for x in total) / d_model + p.epsilon)
        parts = [p.gamma * (part - part.mean()) / deviation for part in parts]
        whole = p.gamma * (total - total.mean()) / deviation + p.beta
    length = sum(abs(x) for x in whole)
    far = [sum(abs(x - y) for x, y in zip(whole, part, strict=True)) for part in parts]
    near = [max(0.0, length - each) for each in far]
    if not any(near):  # rare: the bias outweighs every token
        read = [each if part.any() else np.inf for each, part in zip(far, parts, strict=True)]
        return [float(number == int(np.argmin(read))) for number in range(len(read))]
    return [each / sum(near) for each in near]


@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize("mask", ["none", "causal"])
def test_the_toy_blocks_contributions_are_those_of_the_formula(norm, mask):
    numbers = toy_numbers(ToyShape(batch=2, tokens=5, d_model=8, num_heads=2, norm=norm), 3, mask)
    stages = numbers.stages()
    found = contributions(stages, numbers.parameters, reads_itself=True)
    expected = [by_hand(stages, numbers.parameters, row, own_last=False) for row in range(5)]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    if mask == "causal":
        assert not found[np.triu_indices(5, 1)].any()


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_cross_attention_and_the_rows_own_vector_share_its_output(norm):
    model = unlike_model(norm=norm)
    parameters = block_parameters(model, "cross", 1)
    shown = record_stages(model, SOURCE, FED, "cross", 1)
    stages = compute_stages(shown.residual, shown.memory, shown.unmasked, parameters)
    found = contributions(stages, parameters, reads_itself=False)
    assert found.shape == (len(FED), len(SOURCE) + 1)
    expected = [by_hand(stages, parameters, row, own_last=True) for row in range(len(FED))]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_row_whose_parts_all_lead_away_is_the_nearest_ones():
    shares = _shares(
        np.array([[[5.0, -5.0], [0.0, -4.0], [0, 0]], [[1.0, 1.0], [-3.0, 0.0], [0, 0]]]),
        np.array([[-1.0, 1.0], [1.0, 1.0]]),
    )
    np.testing.assert_allclose(shares, [[0, 1, 0], [1, 0, 0]])


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_rows_sum_to_one_and_look_at_nothing_that_comes_later(norm):
    found = alti(unlike_model(norm=norm), SOURCE, FED)
    assert found.encoder.shape == (2, 7, 7) and found.decoder.shape == (3, 4, 4) and found.across.shape == (3, 4, 11)
    for shares in (found.encoder, found.decoder, found.across):
        np.testing.assert_allclose(shares.sum(axis=-1), 1, atol=1e-12)
        assert (shares >= 0).all()
    later = np.triu_indices(4, 1)
    assert not found.decoder[(..., *later)].any() and not found.across[:, :, 7:][(..., *later)].any()
    assert found.source_share().shape == (3, 4)


def test_layers_are_multiplied_as_matrices_over_both_sides():
    """The same product once more, as one matrix over source and prefix together."""
    generator = np.random.default_rng(2)

    def stochastic(rows, columns):
        found = generator.random((rows, columns))
        return found / found.sum(axis=1, keepdims=True)

    encoder = [stochastic(4, 4) for _ in range(3)]
    decoder, cross = [stochastic(3, 3) for _ in range(2)], [stochastic(3, 5) for _ in range(2)]
    memory = encoder[2] @ encoder[1] @ encoder[0]
    both = np.eye(7)
    for reads_prefix, reads_memory in zip(decoder, cross, strict=True):
        step = np.block(
            [[np.eye(4), np.zeros((4, 3))], [reads_memory[:, :4] @ memory, reads_memory[:, 4:] * reads_prefix]]
        )
        both = step @ both
    found = multiply(encoder, decoder, cross)
    np.testing.assert_allclose(found.across[-1], both[4:], atol=1e-12)
    np.testing.assert_allclose(found.encoder[-1], memory, atol=1e-12)


def test_without_cross_attention_the_source_has_no_share():
    """W_O of every cross-attention 0: nothing of the memory arrives."""
    model = unlike_model()
    with torch.no_grad():
        for layer in model.decoder:
            layer.cross_attention.output.weight.zero_()
    assert alti(model, SOURCE, FED).source_share().max() < 1e-9


def test_the_shipped_model_reads_the_source_more_at_the_start_than_for_the_end_of_sentence():
    trace = trace_of("en-de", "I love my teacher.")
    share = alti(loaded("en-de").model, trace.source_ids, trace.decoder_input_ids).source_share()[-1]
    assert 0.3 < share.mean() < 1 and share[0] > share[-1]
