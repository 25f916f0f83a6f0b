"""The selection of a visitor: `parse` is the inverse of `address`; what a trace does not have is left out."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headlight.app.selection import Selection, parse_numbers
from transformer.model.heads import Head, Heads

SHAPES = {"encoder": (2, 3, 4, 4), "decoder": (1, 3, 5, 5), "cross": (1, 3, 5, 4)}
TRACE = SimpleNamespace(attention=lambda kind: np.zeros(SHAPES[kind]))
START = Head("cross", 0, 2)


@st.composite
def selections(draw) -> Selection:
    kind = draw(st.sampled_from(sorted(SHAPES)))
    layers, heads, *sides = map(range, SHAPES[kind])
    refs = draw(st.sets(st.builds(Head, st.just(kind), st.sampled_from(layers), st.sampled_from(heads)), min_size=1))
    queries, keys = (tuple(sorted(draw(st.sets(st.sampled_from(side))))) for side in sides)
    return Selection(tuple(refs), queries=queries, keys=keys)


@given(selections())
def test_parse_is_the_inverse_of_address(selection):
    assert Selection.parse(selection.address, TRACE, START) == selection
    assert selection.head == selection.heads[0]


def test_an_average_to_begin_with_is_expanded():
    expanded = Selection.parse({}, TRACE, Heads("encoder", None, 1)).heads
    assert expanded == (Head("encoder", 0, 1), Head("encoder", 1, 1))


def test_a_long_number_is_none():
    assert parse_numbers("9" * 3000, 5) == ()
