"""References to heads: addresses and heads are inverses; test_both_languages.py has the texts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.model.head_ref import HeadRef
from transformer.model.names import AttentionKind

numbers = st.none() | st.integers(0, 9998)


@settings(deadline=None, derandomize=True, database=None)
@given(st.builds(HeadRef, st.sampled_from(list(AttentionKind)), numbers, numbers))
def test_an_address_is_parsed_to_its_head(reference):
    assert HeadRef.parse(reference.address) == reference
    numbers = ("all" if each is None else str(each + 1) for each in (reference.layer, reference.head))
    assert reference.address == ".".join((reference.kind, *numbers))


def test_a_reference_holds_its_heads_and_has_no_impossible_one():
    for arguments in (("cross", -1), ("sideways",)):
        with pytest.raises(ValueError, match=r"count from 0|kind must be one of"):
            HeadRef(*arguments)
    assert HeadRef("cross", 1).holds("cross", 1, 2) and HeadRef("cross", None, 2).holds("cross", 5)
    assert not HeadRef("cross", 1).holds("cross", 0, 2) and not HeadRef("cross", 1).holds("encoder", 1, 2)
