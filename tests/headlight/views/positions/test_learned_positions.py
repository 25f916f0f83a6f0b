"""What is said and drawn of learned positions, for tables made by hand."""

import numpy as np
import pytest
from headlight.views.positions.learned_text import describe_absence, describe_likeness, describe_norms

from headlight.views.positions.learned_figure import similarity_figure, table_figure
from headlight.views.positions.page import _OF_ENCODINGS

TABLE = np.array([[3.0, 4.0], [0.0, 1.0], [0.0, -2.0], [6.0, 8.0]])


def test_norms_and_likeness_are_those_of_the_rows():
    assert describe_norms("encoder", TABLE) == (
        "The encoder's rows have norms from 1.00 to 10.00, 4.50 on average; the longest is position 3."
    )
    # Neighbours: 4 / 5, -1, -4 / 5; two apart: -4 / 5, 4 / 5.
    assert describe_likeness("decoder", TABLE) == (
        "Neighbouring rows of the decoder have a cosine of −0.33 on average, rows 2 apart 0.00."
    )


@pytest.mark.parametrize("view", _OF_ENCODINGS)
def test_every_view_of_the_formula_says_what_a_learned_table_lacks(view):
    said = describe_absence(view, TABLE)
    assert said.startswith("This model's positions are learned: a table of 4 rows of 2 numbers for each side")
    assert said.endswith(".") and "No formula made it, so " in said


def test_the_figures_hold_the_table_and_the_cosines():
    (table,), (cosines,) = table_figure(TABLE).data, similarity_figure(TABLE).data
    np.testing.assert_array_equal(table.z, TABLE)
    unit = TABLE / np.linalg.norm(TABLE, axis=1, keepdims=True)
    np.testing.assert_allclose(cosines.z, unit @ unit.T, atol=1e-6)
    assert (table.zmin, table.zmax, cosines.zmin, cosines.zmax) == (-8, 8, -1, 1)
