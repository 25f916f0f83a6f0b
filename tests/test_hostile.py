"""A seeded slice of the hostile campaign; `tests/hostile.py` and `tests/hostile_visitors.py` run all of it."""

import itertools
import random

import hostile_visitors
import pytest
from hostile import KINDS, outcome
from support.visitors import aside

SEED = 7


@pytest.fixture(scope="module", params=KINDS)
def attacked(request, tmp_path_factory):
    """A kind of cases, and the real files that they are made of."""
    real = tmp_path_factory.mktemp("real") / "real"
    KINDS[request.param].real(real)
    return request.param, real


def test_what_has_no_fault_is_held(attacked, tmp_path):
    kind, real = attacked
    assert outcome(KINDS[kind].make(real, None, tmp_path)) == "held"


def test_what_is_hostile_is_held_or_refused_in_a_sentence(attacked, tmp_path):
    """Both happen: a campaign that is always refused, or never, would show nothing."""
    kind, real = attacked
    ends = set()
    for number in itertools.count():
        if number >= 50 and (len(ends) == 2 or number == 500):
            break
        work = tmp_path / str(number)
        work.mkdir()
        end = outcome(KINDS[kind].make(real, random.Random(f"{SEED} {kind} {number}"), work))
        assert end in ("held", "refused"), f"{kind} {number}: {end}"
        ends.add(end)
    assert ends == {"held", "refused"}


def test_a_visitor_with_a_hostile_address_or_text_sees_no_exception(address):
    assert aside(hostile_visitors.visit(address, SEED, range(24))).result() == []
