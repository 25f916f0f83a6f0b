"""The selection of a visitor: addresses and selections are inverses, and what a trace does not have is left out."""

from types import SimpleNamespace

import numpy as np
import pytest

from headlight.app.selection import Selection, numbers_address, parse_numbers
from transformer.model.head_ref import HeadRef

SHAPES = {"encoder": (2, 3, 4, 4), "decoder": (1, 3, 5, 5), "cross": (1, 3, 5, 4)}
TRACE = SimpleNamespace(attention=lambda kind: np.zeros(SHAPES[kind]))
START = HeadRef("cross", 0, 2)


@pytest.mark.parametrize(
    "address",
    [
        {"head": "cross.1.2", "query": "", "key": ""},
        {"head": "encoder.1.2-encoder.2.3", "query": "2.4", "key": "1"},
    ],
)
def test_an_address_is_read_and_written_again(address):
    assert Selection.parse(address, TRACE, START).address == address


def test_heads_that_stand_for_several_are_selected_one_by_one():
    assert Selection.parse({"head": "encoder.2.all"}, TRACE, START).heads == tuple(
        HeadRef("encoder", 1, head) for head in range(3)
    )
    assert Selection.parse({}, TRACE, HeadRef("encoder", None, 1)).heads == (
        HeadRef("encoder", 0, 1),
        HeadRef("encoder", 1, 1),
    )


@pytest.mark.parametrize("head", ["", "x", "cross.2.1", "cross.1.1-", "cross.1.1-encoder.1.1", "cross.1.1-cross.9.9"])
def test_invalid_heads_are_replaced(head):
    selection = Selection.parse({"head": head, "query": "5.9", "key": "5"}, TRACE, START)
    assert selection == Selection((START,), queries=(4,))


def test_numbers_count_from_one_in_an_address():
    assert parse_numbers("2.5.2", 5) == (1, 4) and numbers_address((1, 4)) == "2.5"
    assert parse_numbers("5.9.0.2", 5) == (1, 4)
    for text in ("", "q1", "1.", "-1", "٣", "9" * 3000):
        assert parse_numbers(text, 5) == ()
