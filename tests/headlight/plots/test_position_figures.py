"""Figures of positional encoding: cells, curves and arrows."""

import math

import numpy as np
import pytest
from support.models import encoding

import headlight.plots as plots

LENGTH, D_MODEL = 30, 14


@pytest.fixture(scope="module")
def shown():
    return encoding(LENGTH, D_MODEL, 100.0)


def test_the_framed_pair_is_drawn_as_two_waves_in_the_rows_of_the_table(shown):
    figure = plots.waves(shown, pair=2, position=3, offset=4)
    heatmap, sine, sine_marks, cosine, cosine_marks = figure.data
    np.testing.assert_array_equal(heatmap.z, shown.table)
    for dimension, curve, marks in ((4, sine, sine_marks), (5, cosine, cosine_marks)):
        np.testing.assert_array_equal(curve.x, shown.table[:, dimension])
        np.testing.assert_array_equal(curve.y, np.arange(LENGTH))
        np.testing.assert_array_equal(marks.x, shown.table[[3, 7], dimension])
        assert list(marks.y) == [3, 7]


def test_the_hands_of_the_clock_point_at_both_positions_and_the_arc_joins_them(shown):
    figure = plots.rotation(shown, pair=2, position=3, offset=4)
    _, dots, arc, first, second = figure.data
    np.testing.assert_allclose(np.stack([dots.x, dots.y], axis=1), shown.pairs[:, 2], atol=1e-6)
    radius = math.hypot(arc.x[0], arc.y[0])
    for hand, position, end in ((first, 3, 0), (second, 7, -1)):
        assert hand.name == f"PE({position})"
        np.testing.assert_allclose([hand.x[1], hand.y[1]], shown.pairs[position, 2])
        np.testing.assert_allclose([arc.x[end], arc.y[end]], radius * shown.pairs[position, 2], atol=1e-5)
    assert f"{math.degrees(4 * shown.frequencies[2]):.1f}°" in arc.name
