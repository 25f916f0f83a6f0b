"""Positional encoding: the formula, the two laws, and the sum, for the engine's sinusoids and for a model's table."""

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
    repetitions,
    rotation,
    rotation_error,
    shared_tokens,
    without_positions,
)

LENGTH, D_MODEL, BASE = 50, 14, 300.0
ROUNDING = 2.0**-24  # half of float32's spacing below 1: no sine or cosine is stored more exactly


@pytest.fixture(scope="module")
def model():
    return small_model()


@pytest.fixture(params=["settings", "model"])
def shown(request, model):
    """An encoding made to measure, and the table of a model: the laws hold for both."""
    return encoding(LENGTH, D_MODEL, BASE) if request.param == "settings" else model_encoding(model)


def by_hand(length: int, d_model: int, base: float) -> np.ndarray:
    """The paper's formula, one value at a time, in float64."""
    table = np.empty((length, d_model))
    for position in range(length):
        for i in range(d_model // 2):
            angle = position / base ** (2 * i / d_model)
            table[position, 2 * i] = math.sin(angle)
            table[position, 2 * i + 1] = math.cos(angle)
    return table


def test_the_table_is_the_papers_formula(shown):
    expected = by_hand(shown.length, shown.d_model, shown.base)
    np.testing.assert_allclose(shown.table, expected, atol=1.01 * ROUNDING, rtol=0)
    assert shown.table.dtype == np.float32


def test_a_models_table_is_the_one_that_it_adds(model):
    shown = model_encoding(model)
    assert (shown.length, shown.d_model, shown.base) == (20, 24, 1e4)
    x = torch.zeros(1, 5, 24)
    np.testing.assert_array_equal(model.positions(x)[0].numpy(), shown.table[:5])


def test_what_a_page_does_with_a_table_cannot_reach_the_model(model):
    table = model_encoding(model).table
    assert not table.flags.writeable
    assert table.ctypes.data != model.positions.table.data_ptr()


def test_an_encoding_knows_its_pairs_and_its_beginning(shown):
    assert shown.pairs.shape == (shown.length, shown.d_model // 2, 2)
    np.testing.assert_array_equal(shown.pairs[3, 5], shown.table[3, 10:12])
    assert shown.first(7).length == 7
    assert shown.first(9999).length == shown.length
    assert shown.first(7).base == shown.base


def test_wavelengths_are_two_pi_times_the_base_to_a_growing_power(shown):
    expected = [2 * math.pi * shown.base ** (2 * i / shown.d_model) for i in range(shown.d_model // 2)]
    np.testing.assert_allclose(shown.wavelengths, expected, rtol=1e-12)
    assert shown.wavelengths[0] == pytest.approx(2 * math.pi)


def test_after_a_wavelength_a_pair_is_back_where_it_was():
    base = (7 / (2 * math.pi)) ** (4 / 2)  # of four dimensions, the second pair's wavelength is 7
    shown = encoding(30, 4, base)
    assert shown.wavelengths[1] == pytest.approx(7)
    assert shown.pairs[7:, 1] == near(shown.pairs[:-7, 1])
    assert np.abs(shown.pairs[6:, 1] - shown.pairs[:-6, 1]).max() > 0.5


@pytest.mark.parametrize("offset", [1, 2, 5, 13, 19])
def test_k_positions_on_every_pair_has_turned_by_one_fixed_rotation(shown, offset):
    for i in (0, 1, shown.d_model // 2 - 1):
        matrix = rotation(offset / shown.base ** (2 * i / shown.d_model))
        for position in (0, shown.length - 1 - offset):
            turned = matrix @ shown.pairs[position, i]
            np.testing.assert_allclose(turned, shown.pairs[position + offset, i], atol=3 * ROUNDING)
    assert rotation_error(shown, offset) < 3 * ROUNDING


def test_the_rotation_matrix_acts_on_sine_and_cosine_and_keeps_lengths():
    matrix = rotation(0.7)
    start = np.array([math.sin(0.4), math.cos(0.4)])
    np.testing.assert_allclose(matrix @ start, [math.sin(1.1), math.cos(1.1)])
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(2), atol=1e-15)


def test_a_table_that_breaks_the_law_is_found_out(shown):
    table = shown.table.copy()
    table[4, 3] += 0.25
    assert rotation_error(dataclasses.replace(shown, table=table), 2) > 0.2


def test_the_rotation_asks_for_two_positions_that_far_apart(shown):
    assert rotation_error(shown, shown.length - 1) < 3 * ROUNDING
    assert rotation_error(shown, shown.length) is None
    with pytest.raises(ValueError, match="at least 1, got 0"):
        rotation_error(shown, 0)


def test_the_dot_product_depends_on_the_distance_alone(shown):
    products = dot_products(shown)
    for distance in (0, 1, 6, shown.length - 1):
        expected = sum(math.cos(distance / shown.base ** (2 * i / shown.d_model)) for i in range(shown.d_model // 2))
        assert products.diagonal(distance) == near(expected)


def test_shared_tokens_are_paired_occurrence_by_occurrence_and_their_distances_are_of_both_vectors(model):
    one = embedding_sum(model, [5, 6, 5, 7, 2], ("a", "b", "a", "c", "</s>"))
    other = embedding_sum(model, [5, 8, 5, 6, 5, 2], ("a", "d", "a", "b", "a", "</s>"))
    pairs = [("a", 0, 0), ("b", 1, 3), ("a", 2, 2), ("</s>", 4, 5)]
    found = shared_tokens(one, other)
    assert [(each.token, each.first, each.second) for each in found] == pairs
    table = by_hand(20, 24, 1e4)
    for each in found:
        assert each.before == 0
        assert each.after == near(math.dist(table[each.first], table[each.second]))


def test_without_positions_the_encoder_makes_the_same_of_a_token_wherever_it_stands():
    model = small_model(num_encoder_layers=3)
    sources = torch.tensor([[5, 6, 7, 8, 2], [7, 6, 5, 8, 2]])
    order = [2, 1, 0, 3, 4]

    @torch.no_grad()
    def encoded() -> torch.Tensor:
        return model.encode(sources, None)

    usual = encoded()
    with without_positions(model), ThreadPoolExecutor() as others:
        one, other = encoded()
        torch.testing.assert_close(others.submit(encoded).result(), usual, atol=0, rtol=0)
    assert one == near(other[order])
    assert (usual[0] - usual[1][order]).abs().max() > 0.1 < (one - usual[0]).abs().max()
    torch.testing.assert_close(encoded(), usual, atol=0, rtol=0)


@pytest.mark.parametrize("changes", [{}, {"positions": "learned"}, {"norm": "pre", "embedding_norm": True}])
def test_without_positions_the_decoder_keeps_its_own(changes):
    """Both stacks share the table of a formula."""
    model = small_model(**changes)
    sources, targets = torch.tensor([[5, 6, 7, 8, 2]]), torch.tensor([[1, 5, 5, 6]])
    bare = copy.deepcopy(model)
    bare.encoder_input.positions = copy.deepcopy(bare.encoder_input.positions)  # the encoder's alone
    with torch.no_grad():
        bare.encoder_input.positions.table.zero_()
        expected = bare(sources, targets)
        usual = model(sources, targets)
        with without_positions(model):
            assert model(sources, targets) == near(expected)
            state = DecodingState(model, sources.tolist(), 6)
            steps = [state.step(tokens) for tokens in targets.T]
    assert torch.stack(steps, dim=1) == near(expected)
    assert (usual - expected).abs().max() > 1e-3


IDS = [9, 17, 5, 17, 11, 9, 3]
TOKENS = ("a", "b", "c", "b", "d", "a", "</s>")


@pytest.fixture(scope="module")
def summed(model):
    return embedding_sum(model, IDS, TOKENS)


def test_the_sum_is_what_enters_the_encoder(model, summed):
    entered = []
    handle = model.encoder[0].register_forward_pre_hook(lambda layer, arguments: entered.append(arguments[0]))
    with torch.inference_mode():
        model.encode(torch.tensor([IDS]), None)
    handle.remove()
    np.testing.assert_array_equal(summed.total, entered[0][0].numpy())
    matrix = model.source_embedding.weight.detach().numpy()
    np.testing.assert_allclose(summed.embeddings, matrix[IDS] * math.sqrt(24), rtol=1e-6)
    assert summed.positions == near(by_hand(7, 24, 10000.0))
    assert summed.embeddings + summed.positions == near(summed.total)
    assert not summed.total.flags.writeable


def test_norms_are_those_of_each_token(summed):
    assert summed.norms.shape == (3, 7)
    np.testing.assert_allclose(summed.norms[1], math.sqrt(24 / 2), rtol=1e-6)
    for row, part in ((0, summed.embeddings), (2, summed.total)):
        assert summed.norms[row, 4] == pytest.approx(math.dist(part[4], np.zeros(24)))


def test_a_token_that_occurs_twice_is_one_vector_before_and_two_after(summed):
    first, second = repetitions(summed)
    assert (first.token, first.first, first.second) == ("a", 0, 5)
    assert (second.token, second.first, second.second) == ("b", 1, 3)
    table = by_hand(7, 24, 10000.0)
    for found in (first, second):
        assert found.before == 0
        assert found.after == pytest.approx(np.linalg.norm(table[found.first] - table[found.second]), rel=1e-5)


def test_a_sentence_without_a_repetition_has_none(model):
    assert repetitions(embedding_sum(model, IDS[:3], TOKENS[:3])) == []


def test_a_model_in_training_has_no_sum_to_show():
    with pytest.raises(ValueError, match="eval mode"):
        embedding_sum(small_model().train(), IDS, TOKENS)
