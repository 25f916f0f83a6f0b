"""Differences of two traces: equal ones do not differ, and tokens find their partners."""

import numpy as np
import pytest
from support.tolerance import near
from support.traces import FED, NEXT, SOURCE, made_trace

from transformer.errors import InterventionError
from transformer.interpret.what_if.difference import subtract


def test_a_trace_does_not_differ_from_itself(translator):
    trace = translator.trace("big red dog.", target="Hund rot")
    for kind in ("encoder", "decoder", "cross"):
        difference = subtract(trace, trace, kind)
        assert not difference.values.any() and difference.values.shape == trace.attention(kind).shape
        assert {distance for *_, distance in difference.ranked()} == {0.0}


def test_an_intervention_is_seen_in_its_head_first(translator):
    before = translator.trace("big red dog.", target="Hund rot")
    after = translator.trace("big red dog.", target="Hund rot", interventions=["focus:cross.0.2:1"])
    difference = subtract(before, after, "cross")
    np.testing.assert_array_equal(difference.values, after.cross - before.cross)
    layer, head, distance = difference.ranked()[0]
    assert (layer, head) == (0, 2)
    assert distance == near((1 - before.cross[0, 2, :, 1]).mean()), "all weight that was elsewhere"
    assert [one[2] for one in difference.ranked()] == sorted((one[2] for one in difference.ranked()), reverse=True)


def test_tokens_find_their_partners_where_lengths_differ():
    generator = np.random.default_rng(4)
    longer = ("▁no", "▁small", *SOURCE[1:])
    one = made_trace(cross=generator.random((1, 2, 3, 5)), encoder=generator.random((1, 2, 5, 5)))
    other = made_trace(
        source_tokens=longer, cross=generator.random((1, 2, 3, 6)), encoder=generator.random((1, 2, 6, 6))
    )
    difference = subtract(one, other, "cross")
    assert difference.rows == ((0, 0), (1, 1), (2, 2))
    assert difference.columns == ((0, 0), (1, 2), (2, 3), (3, 4), (4, 5))
    np.testing.assert_array_equal(difference.values, other.cross[..., [0, 2, 3, 4, 5]] - one.cross)
    encoder = subtract(one, other, "encoder")
    partners = [0, 2, 3, 4, 5]
    np.testing.assert_array_equal(encoder.values, other.encoder[:, :, partners][..., partners] - one.encoder)
    assert encoder.rows == encoder.columns == difference.columns


def test_sentences_and_models_without_partners_are_refused():
    one = made_trace()
    stranger = made_trace(source_tokens=("▁x", "▁y"), cross=np.full((1, 2, 3, 2), 0.5))
    with pytest.raises(InterventionError, match="no token in common"):
        subtract(one, stranger, "cross")
    assert subtract(one, stranger, "decoder").values.shape == (1, 2, len(FED), len(NEXT))
    deeper = made_trace(cross=np.full((3, 2, 3, 5), 0.2))
    with pytest.raises(InterventionError, match="1 layers of 2 heads and 3 layers of 2 heads of cross attention"):
        subtract(one, deeper, "cross")
