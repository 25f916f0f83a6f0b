"""Two traces held against each other: equal ones do not differ, tokens find their partners, the rest is said."""

import numpy as np
import pytest
from support.tolerance import near
from support.traces import FED, NEXT, SOURCE, made_trace

from transformer.errors import InterventionError
from transformer.interpret.what_if.difference import subtract


def test_a_trace_does_not_differ_from_itself(translator):
    trace = translator.trace("big red dog.", target="Hund rot")
    for kind in ("encoder", "decoder", "cross"):
        found = subtract(trace, trace, kind)
        assert not found.values.any() and found.values.shape == trace.attention(kind).shape
        assert {distance for *_, distance in found.ranked()} == {0.0}


def test_an_intervention_is_seen_in_its_head_first(translator):
    before = translator.trace("big red dog.", target="Hund rot")
    after = translator.trace("big red dog.", target="Hund rot", interventions=["focus:cross.0.2:1"])
    found = subtract(before, after, "cross")
    np.testing.assert_array_equal(found.values, after.cross - before.cross)
    layer, head, distance = found.ranked()[0]
    assert (layer, head) == (0, 2)
    assert distance == near((1 - before.cross[0, 2, :, 1]).mean()), "all weight that was elsewhere"
    assert [one[2] for one in found.ranked()] == sorted((one[2] for one in found.ranked()), reverse=True)


def test_tokens_find_their_partners_where_lengths_differ():
    generator = np.random.default_rng(4)
    longer = ("▁no", "▁small", *SOURCE[1:])
    one = made_trace(cross=generator.random((1, 2, 3, 5)), encoder=generator.random((1, 2, 5, 5)))
    other = made_trace(
        source_tokens=longer, cross=generator.random((1, 2, 3, 6)), encoder=generator.random((1, 2, 6, 6))
    )
    found = subtract(one, other, "cross")
    assert found.rows == ((0, 0), (1, 1), (2, 2))
    assert found.columns == ((0, 0), (1, 2), (2, 3), (3, 4), (4, 5))
    np.testing.assert_array_equal(found.values, other.cross[..., [0, 2, 3, 4, 5]] - one.cross)
    encoder = subtract(one, other, "encoder")
    kept = [0, 2, 3, 4, 5]
    np.testing.assert_array_equal(encoder.values, other.encoder[:, :, kept][..., kept] - one.encoder)
    assert encoder.rows == encoder.columns == found.columns


def test_what_has_no_partner_is_said():
    one = made_trace()
    stranger = made_trace(source_tokens=("▁x", "▁y"), cross=np.full((1, 2, 3, 2), 0.5))
    with pytest.raises(InterventionError, match="no token in common"):
        subtract(one, stranger, "cross")
    assert subtract(one, stranger, "decoder").values.shape == (1, 2, len(FED), len(NEXT))
    deeper = made_trace(cross=np.full((3, 2, 3, 5), 0.2))
    with pytest.raises(InterventionError, match="1 layers of 2 heads and 3 layers of 2 heads of cross attention"):
        subtract(one, deeper, "cross")
