"""The selection of a visitor: `parse` is the inverse of `address`; what a trace does not have is left out."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headlight.app.selection import Selection, parse_numbers
from transformer.model.head_ref import HeadRef

SHAPES = {"encoder": (2, 3, 4, 4), "decoder": (1, 3, 5, 5), "cross": (1, 3, 5, 4)}
TRACE = SimpleNamespace(attention=lambda kind: np.zeros(SHAPES[kind]))
START = HeadRef("cross", 0, 2)


@st.composite
def selections(draw) -> Selection:
    kind = draw(st.sampled_from(sorted(SHAPES)))
    layers, heads, *sides = map(range, SHAPES[kind])
    refs = draw(st.sets(st.builds(HeadRef, st.just(kind), st.sampled_from(layers), st.sampled_from(heads)), min_size=1))
    queries, keys = (tuple(sorted(draw(st.sets(st.sampled_from(side))))) for side in sides)
    return Selection(tuple(refs), queries=queries, keys=keys)


@given(selections())
def test_parse_is_the_inverse_of_address(selection):
    assert Selection.parse(selection.address, TRACE, START) == selection
    assert selection.head == selection.heads[0]


def test_averages_are_expanded_to_single_heads():
    assert Selection.parse({"head": "encoder.2.all"}, TRACE, START).heads == tuple(
        HeadRef("encoder", 1, head) for head in range(3)
    )
    expanded = Selection.parse({}, TRACE, HeadRef("encoder", None, 1)).heads
    assert expanded == (HeadRef("encoder", 0, 1), HeadRef("encoder", 1, 1))


@pytest.mark.parametrize("head", ["", "x", "cross.2.1", "cross.1.1-", "cross.1.1-encoder.1.1"])
def test_invalid_heads_are_replaced(head):
    selection = Selection.parse({"head": head, "query": "5.9", "key": "5"}, TRACE, START)
    assert selection == Selection((START,), queries=(4,))


def test_numbers_count_from_one_and_invalid_texts_have_none():
    assert parse_numbers("5.9.0.2", 5) == (1, 4)
    for text in ("q1", "1.", "-1", "٣", "9" * 3000):
        assert parse_numbers(text, 5) == ()
