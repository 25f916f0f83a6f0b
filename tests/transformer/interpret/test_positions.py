"""Positional encoding: the formula, its two laws, and the sum with embeddings."""

import copy
import dataclasses
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from support.models import encoding, small_model
from support.tolerance import near

from transformer.decoding.sampling import DecodingState
from transformer.interpret.positions import (
    dot_products,
    embedding_sum,
    model_encoding,
    rotation,
    rotation_error,
    shared_tokens,
    without_positions,
)

ROUNDING = 2.0**-24  # half of float32's spacing below 1: no sine or cosine is stored more exactly


@pytest.fixture(scope="module")
def model():
    return small_model()


@pytest.fixture(params=["settings", "model"])
def shown(request, model):
    """Return an encoding of chosen size, or the table of a model: the laws hold for both."""
    return encoding(50, 14, 300.0) if request.param == "settings" else model_encoding(model)


def by_hand(length: int, d_model: int, base: float) -> np.ndarray:
    """Compute the paper's formula, one value at a time, in float64."""
    table = np.empty((length, d_model))
    for position in range(length):
        for i in range(d_model // 2):
            angle = position / base ** (2 * i / d_model)
            table[position, 2 * i : 2 * i + 2] = math.sin(angle), math.cos(angle)
    return table


def test_the_table_is_the_papers_formula(shown, model):
    expected = by_hand(shown.length, shown.d_model, shown.base)
    np.testing.assert_allclose(shown.table, expected, atol=1.01 * ROUNDING, rtol=0)
    assert shown.table.dtype == np.float32 and shown.first(7).length == 7
    assert shown.first(9999).length == shown.length and shown.first(7).base == shown.base
    expected = [2 * math.pi * shown.base ** (2 * i / shown.d_model) for i in range(shown.d_model // 2)]
    np.testing.assert_allclose(shown.wavelengths, expected)
    of_model = model_encoding(model)
    assert (of_model.length, of_model.d_model, of_model.base) == (20, 24, 1e4)
    np.testing.assert_array_equal(model.positions(torch.zeros(1, 5, 24))[0].numpy(), of_model.table[:5])
    assert not of_model.table.flags.writeable and of_model.table.ctypes.data != model.positions.table.data_ptr()


@pytest.mark.parametrize("offset", [1, 5, 19])
def test_one_rotation_takes_every_position_as_many_positions_further(shown, offset):
    for i in (0, 1, shown.d_model // 2 - 1):
        matrix = rotation(offset / shown.base ** (2 * i / shown.d_model))
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(2), atol=1e-15)
        turned = shown.table[: shown.length - offset, 2 * i : 2 * i + 2] @ matrix.T
        np.testing.assert_allclose(turned, shown.pairs[offset:, i], atol=3 * ROUNDING)
    assert rotation_error(shown, offset) < 3 * ROUNDING
    table = shown.table.copy()
    table[0, 3] += 0.25
    assert rotation_error(dataclasses.replace(shown, table=table), offset) > 0.25 / 2
    assert rotation_error(shown, shown.length) is None
    with pytest.raises(ValueError, match="at least 1, got 0"):
        rotation_error(shown, 0)


def test_the_dot_product_depends_on_the_distance_alone(shown):
    products = dot_products(shown)
    for distance in (0, 1, 6, shown.length - 1):
        expected = sum(math.cos(distance / shown.base ** (2 * i / shown.d_model)) for i in range(shown.d_model // 2))
        assert products.diagonal(distance) == near(expected)


@pytest.mark.parametrize(
    "changes", [{}, {"positions": "learned"}, {"positions": "relative"}, {"norm": "pre", "embedding_norm": True}]
)
def test_without_positions_the_encoder_reads_a_set_and_the_decoder_keeps_its_own(changes):
    """Both stacks share the table of a formula."""
    model = small_model(**changes)
    sources, targets = torch.tensor([[5, 6, 7, 8, 2], [7, 6, 5, 8, 2]]), torch.tensor([[1, 5, 5, 6]] * 2)
    bare = copy.deepcopy(model)
    with torch.no_grad():
        if model.encoder_relative is None:
            bare.encoder_input.positions = copy.deepcopy(bare.encoder_input.positions)  # the encoder's alone
            bare.encoder_input.positions.table.zero_()
        else:
            bare.encoder_relative = copy.deepcopy(bare.encoder_relative)
            bare.encoder_relative.table.zero_()
        expected, usual, memory = bare(sources, targets), model(sources, targets), model.encode(sources, None)
        with without_positions(model), ThreadPoolExecutor() as others:
            assert model(sources, targets) == near(expected)
            one, other = model.encode(sources, None)
            assert one == near(other[[2, 1, 0, 3, 4]])
            assert torch.equal(others.submit(torch.no_grad()(model.encode), sources, None).result(), memory)
            state = DecodingState(model, sources.tolist(), 6)
            steps = [state.step(tokens) for tokens in targets.T]
    assert torch.stack(steps, dim=1) == near(expected)
    assert (usual - expected).abs().max() > 1e-3


def test_the_sum_is_what_enters_the_encoder(model):
    ids, entered = [9, 17, 5, 17, 11, 9, 3], []
    summed = embedding_sum(model, ids, "abcbdae")
    handle = model.encoder[0].register_forward_pre_hook(lambda layer, arguments: entered.append(arguments[0]))
    with torch.inference_mode():
        model.encode(torch.tensor([ids]), None)
    handle.remove()
    np.testing.assert_array_equal(summed.total, entered[0][0].numpy())
    embedded = model.source_embedding.weight.detach().numpy()[ids] * math.sqrt(24)
    np.testing.assert_allclose(summed.embeddings, embedded, rtol=1e-6)
    assert summed.positions == near(by_hand(7, 24, 1e4))
    assert summed.embeddings + summed.positions == near(summed.total) and not summed.total.flags.writeable
    for row, part in enumerate((summed.embeddings, summed.positions, summed.total)):
        assert summed.norms[row] == near([math.dist(vector, np.zeros(24)) for vector in part])


def test_tokens_that_recur_are_one_vector_before_positions_and_two_after(model):
    one = embedding_sum(model, [5, 6, 5, 7, 2], ("a", "b", "a", "c", "</s>"))
    other = embedding_sum(model, [5, 8, 5, 6, 5, 2], ("a", "d", "a", "b", "a", "</s>"))
    shared = shared_tokens(one, other)
    between = [("a", 0, 0), ("b", 1, 3), ("a", 2, 2), ("</s>", 4, 5)]
    assert [(each.token, each.first, each.second) for each in shared] == between
    table = by_hand(20, 24, 1e4)
    for each in shared:
        distance = math.dist(table[each.first], table[each.second])
        assert each.before == 0 and each.after == pytest.approx(distance, rel=1e-5)
