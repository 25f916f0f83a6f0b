"""Interventions as values: parsing inverts writing, refusals, and new weights against numbers by hand."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.errors import InterventionError
from transformer.interpret.what_if.intervention import (
    INTERVENTIONS,
    Ablation,
    Focus,
    Forbid,
    Rows,
    SetWeights,
    Shift,
    Zero,
    parse,
)
from transformer.model.names import HEADS, UNITS

NUMBERS = st.none() | st.integers(0, 99_999)
ROWS = st.tuples(st.integers(0, 999), NUMBERS).filter(lambda each: each[1] is None or each[0] <= each[1])
WEIGHT_LISTS = st.lists(st.floats(0, 1e9), min_size=1, max_size=5).filter(any)
OPTIONS = {
    Focus: {"key": st.integers(0, 99_999)},
    Forbid: {"key": st.integers(0, 99_999)},
    Shift: {"by": st.integers(-99_999, 99_999)},
    SetWeights: {"weights": WEIGHT_LISTS.map(tuple)},
}


@st.composite
def interventions(draw):
    """Draw interventions of every class, part, layer, head, units and rows."""
    make, rows = draw(st.sampled_from(list(INTERVENTIONS.values()))), draw(ROWS.map(lambda each: Rows(*each)))
    if issubclass(make, Ablation) and draw(st.booleans()):
        units = draw(st.none() | st.lists(st.integers(0, 99_999), min_size=1, max_size=3))
        return make(draw(st.sampled_from(UNITS)), draw(NUMBERS), units=units, rows=rows)
    options = {name: draw(values) for name, values in OPTIONS.get(make, {}).items()}
    return make(draw(st.sampled_from(HEADS)), draw(NUMBERS), draw(NUMBERS), rows=rows, **options)


@settings(max_examples=60)
@given(interventions())
def test_parsing_inverts_writing(intervention):
    text = str(intervention)
    assert parse(text) == intervention and hash(parse(text)) == hash(intervention)
    assert not set(text) & set(" %&?#+/\"'<>~"), "an address need not encode it"


def test_a_text_counts_from_0_and_has_the_rows_last():
    assert parse("focus:cross.*.1:3@4-") == Focus("cross", None, 1, key=3, rows=Rows(4))
    assert str(Shift("decoder", 1, 2, by=-1, rows=Rows(0, 0))) == "shift:decoder.1.2:-1@0"
    assert str(Zero("encoder.feed_forward", 2, units=[5, 7], rows=Rows(2, 4))) == "zero:encoder.feed_forward.2.5,7@2-4"


REFUSED = """
zero:cross.1 zero:sideways.1.2 zero:cross.1.2:3 zero:cross.1.2@ zero:cross.1.2@4-3 half:cross.1.2
focus:cross.1.2:x forbid:cross.1.2:1.5 given:cross.1.2:0,0 given:cross.1.2:1,-1 given:cross.1.2:nan
given:cross.1.2:1,inf zero:cross.١.2 zero:cross.1.2,3 zero:encoder.feed_forward.1.2,x zero:encoder.stream.1.*
uniform:encoder.feed_forward.1.* patch:encoder.stream.1.*@2 apply:cross.1.2:3
"""


def test_other_texts_numbers_below_0_and_empty_ranges_are_refused():
    texts = [partial(parse, text) for text in ("", "focus:cross.1.2:" + "9" * 5000, *REFUSED.split())]
    for make in (*texts, partial(Zero, "cross", -1), partial(Rows, -1), partial(Rows, 3, 2)):
        with pytest.raises(InterventionError, match=r"\.$"):
            make()


WEIGHTS = np.array([[0.7, 0.3, 0, 0], [0.1, 0.2, 0.7, 0], [0.4, 0.3, 0.2, 0.1]])


@pytest.mark.parametrize(
    "text, expected",
    [
        ("uniform:cross.0.0", [[1 / 2, 1 / 2, 0, 0], [1 / 3, 1 / 3, 1 / 3, 0], [1 / 4] * 4]),
        ("focus:cross.0.0:2", [[0.7, 0.3, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0]]),
        ("focus:cross.0.0:9", WEIGHTS),
        ("forbid:cross.0.0:2", [[0.7, 0.3, 0, 0], [1 / 3, 2 / 3, 0, 0], [0.5, 0.375, 0, 0.125]]),
        ("shift:cross.0.0:1", [[0, 1, 0, 0], [0, 1 / 3, 2 / 3, 0], [0, 4 / 9, 3 / 9, 2 / 9]]),
        ("shift:cross.0.0:-1", [[1, 0, 0, 0], [2 / 9, 7 / 9, 0, 0], [3 / 6, 2 / 6, 1 / 6, 0]]),
        ("shift:cross.0.0:3", [[0.7, 0.3, 0, 0], [0.1, 0.2, 0.7, 0], [0, 0, 0, 1]]),
        ("given:cross.0.0:1,1,0,2", [[1 / 2, 1 / 2, 0, 0], [1 / 2, 1 / 2, 0, 0], [1 / 4, 1 / 4, 0, 1 / 2]]),
        ("given:cross.0.0:0,0,3", [[0.7, 0.3, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0]]),
        ("given:cross.0.0:0,1,0,1,7,7", [[0, 1, 0, 0], [0, 1, 0, 0], [0, 1 / 2, 0, 1 / 2]]),
    ],
)
def test_each_rewriting_by_hand(text, expected):
    weights, unmasked = (torch.tensor(each)[None, None] for each in (WEIGHTS, WEIGHTS > 0))
    np.testing.assert_allclose(parse(text).rewritten(weights, unmasked)[0, 0], expected, atol=1e-12)


def test_a_row_whose_only_key_is_forbidden_attends_to_nothing():
    weights = torch.tensor([[[[1.0, 0, 0], [0.0, 1, 0]]]])
    assert Forbid("cross", key=0).rewritten(weights, weights > 0).tolist() == [[[[0, 0, 0], [0, 1, 0]]]]
