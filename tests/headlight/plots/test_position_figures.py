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


def test_the_table_has_a_frame_around_the_pair_and_a_line_at_each_position(shown):
    figure = plots.waves(shown, pair=2, position=3, offset=4)
    (heatmap,), (ring, *lines) = figure.data, figure.layout.shapes
    np.testing.assert_array_equal(heatmap.z, shown.table)
    assert (ring.x0, ring.x1) == (3.5, 5.5) and [(line.y0, line.y1) for line in lines] == [(3, 3), (7, 7)]
    for pair, offset in ((7, 4), (2, 27)):
        with pytest.raises(IndexError):
            plots.waves(shown, pair=pair, position=3, offset=offset)


def test_rows_of_a_sentence_are_named_by_its_tokens(shown):
    figure = plots.positions(shown.table[:3], ("▁a", "▁b", "</s>"))
    assert list(figure.layout.yaxis.ticktext) == ["a", "b", "⟨end⟩"] and figure.data[0].z.shape == (3, D_MODEL)


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
