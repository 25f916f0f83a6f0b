"""Law of the finding on a translation's map: the largest weight between two words."""

import pytest
from support.traces import made_map

from headlight.views.home.content import strongest_reading


def test_the_weight_named_is_the_largest_between_two_words():
    weights = [[0.1, 0.2, 0.1, 0.6, 0], [0, 0.3, 0, 0.1, 0.6], [0.9, 0, 0, 0, 0.1]]
    finding = strongest_reading(made_map(weights, row_label="predicted"))
    numbers = finding["row"].position, finding["key"].position, finding["weight"]
    assert numbers == pytest.approx((1, 1, 0.3)) and finding["head"] == "layer 2, head 1"
    assert strongest_reading(made_map([[0, 0, 0, 0.5, 0.5]] * 3, keys=["</s>"] * 5)) is None
