"""References to heads: addresses and heads are inverses; test_both_languages.py has the texts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.model.heads import Head, Heads
from transformer.model.names import AttentionKind

numbers = st.none() | st.integers(0, 9998)


@settings(deadline=None, derandomize=True, database=None)
@given(st.builds(Heads.of, st.sampled_from(list(AttentionKind)), numbers, numbers))
def test_an_address_is_parsed_to_its_heads_and_to_a_head_where_it_names_one(reference):
    assert Heads.parse(reference.address) == reference
    assert isinstance(reference, Head) == (None not in (reference.layer, reference.head))
    numbers = ("all" if each is None else str(each + 1) for each in (reference.layer, reference.head))
    assert reference.address == ".".join((reference.kind, *numbers))


def test_a_reference_holds_its_heads_and_has_no_impossible_one():
    for arguments in (("cross", -1, 0), ("sideways", None, None)):
        with pytest.raises(ValueError, match=r"count from 0|kind must be one of"):
            Heads(*arguments)
    layer, column = Heads("cross", 1, None), Heads("cross", None, 2)
    assert layer.holds("cross", 1, 2) and column.holds("cross", 5)
    assert not layer.holds("cross", 0, 2) and not layer.holds("encoder", 1, 2)
