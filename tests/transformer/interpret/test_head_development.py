"""Measures over the snapshots of a training, against maps made by hand and against one map at a time."""

import numpy as np
import pytest

from transformer.interpret.head_patterns import Focus, best_reader, count_hits, mean_maxima, measure_focus

STEPS = np.array([0, 100, 1000, 2000])


def random_maps(causal: bool) -> np.ndarray:
    """[4 snapshots, 2 layers, 3 heads, 5 queries, 5 or 6 keys], rows that sum to 1, later keys NaN if causal."""
    weights = np.random.default_rng(1).random((4, 2, 3, 5, 5 if causal else 6)) ** 4
    weights = np.where(np.tri(5, dtype=bool), weights, np.nan) if causal else weights
    return weights / np.nansum(weights, axis=-1, keepdims=True)


@pytest.mark.parametrize("causal", [False, True])
def test_focus_is_the_mean_row_maximum_of_every_head(causal):
    maps = random_maps(causal)
    focus = measure_focus(STEPS, maps)
    for index in np.ndindex(maps.shape[:3]):
        assert focus.values[index] == pytest.approx(mean_maxima(maps[index]), abs=1e-9)
    assert focus.known and focus.uniform == pytest.approx(
        np.mean([1 / keys for keys in range(2, 6)]) if causal else 1 / 6
    )
    assert (focus.values >= focus.uniform).all()


def test_rows_with_a_single_key_leave_nothing_to_measure():
    focus = measure_focus(STEPS[:2], np.ones((2, 1, 2, 3, 1)))
    assert not focus.known and np.isnan(focus.values).all() and focus.values.shape == (2, 1, 2)


def test_the_head_that_changed_most_and_the_step_by_which_half_of_a_layer_had():
    values = np.full((4, 2, 3), 0.2)
    values[1:, 0, :2] = 0.5  # two of three heads of layer 1 change at once
    values[2:, 1, 0] = 0.9
    values[3:, 1, 1:] = 0.6
    focus = Focus(STEPS, values, 0.125)
    assert focus.most_changed() == (1, 0)


def test_a_hit_is_a_largest_weight_on_a_right_key():
    chance, path = np.full((5, 5), 0.1), np.full((5, 5), 0.1)
    chance[range(5), [4, 4, 4, 3, 0]] = path[range(5), [3, 2, 1, 0, 4]] = 0.6
    backwards = [{3}, {2}, {1}, {0}]
    maps = np.array([[[chance, chance]], [[chance, path]]])
    assert count_hits(maps, backwards).tolist() == [[[0, 0]], [[0, 4]]]
    assert best_reader(maps[-1], backwards) == (0, 1)
    either = [{3, 4}, {2, 4}, {4}, {3}]
    assert count_hits(maps[-1], either).tolist() == [[4, 2]], "any of a row's right keys counts"
