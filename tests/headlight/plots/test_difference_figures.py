"""Figures of two runs compared."""

import numpy as np
import pytest
from support.traced import translator

from headlight.plots.what_if import both, difference_figure, head_differences_figure, short
from transformer.interpret.trace import attention_map
from transformer.interpret.what_if.difference import subtract

FIRST, SECOND = "I love my teacher.", "I love my old teacher."


@pytest.fixture(scope="module")
def runs():
    return tuple(map(translator().trace, (FIRST, SECOND)))


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_difference_is_drawn_where_both_have_row_and_column_and_masked_cells_are_blank(runs, kind):
    difference = subtract(*runs, kind)
    maps = [attention_map(trace, kind, 1, 2, "predicted") for trace in runs]
    figure = difference_figure(difference, *maps, 350)
    drawn = np.array(figure.data[0].z, dtype=np.float64)
    for row, (one, other) in enumerate(difference.rows):
        for column, (left, right) in enumerate(difference.columns):
            expected = maps[1].weights[other, right] - maps[0].weights[one, left]
            assert drawn[row, column] == pytest.approx(expected, abs=1e-5, nan_ok=True)
    assert figure.data[0].zmin == -figure.data[0].zmax
    assert (kind == "decoder") == np.isnan(drawn).any()


def test_how_much_each_head_differs_stands_at_its_layer_and_head(runs):
    difference = subtract(*runs, "cross")
    (cells,) = head_differences_figure(difference).data
    assert (cells.x0, cells.y0) == (1, 1)
    np.testing.assert_allclose(np.array(cells.z), difference.distances(), atol=1e-5)


def test_a_token_that_is_another_stands_beside_the_first():
    assert both("a", "a") == "a" and both("a", "<b>") == "a | <b>"
    assert [short(value) for value in (0.004, 0.12, -0.3, 1.0)] == ["", ".12", "−.30", "1.00"]
