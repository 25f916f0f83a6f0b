"""Hostile files, texts and addresses; `--hypothesis-profile=campaign` runs 2,500 cases of each kind."""

import random
import tempfile
from pathlib import Path

import hostile_visitors
import pytest
from hostile import KINDS, check_sentence, read_spoiled, trace_hostile_text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.visitors import aside

from transformer.errors import UserError

settings.register_profile("campaign", max_examples=2500)
SETTINGS = settings(deadline=60_000, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("kind", ["text", *KINDS])
def test_sound_files_are_accepted_and_hostile_ones_accepted_or_refused_in_a_sentence(kind, tmp_path):
    """Both outcomes occur: otherwise the cases would show nothing."""
    outcomes = set()

    @SETTINGS
    @given(st.integers(0, 2**32))
    def check(seed: int) -> None:
        with tempfile.TemporaryDirectory() as work:
            try:
                if kind == "text":
                    trace_hostile_text(Path(work), random.Random(seed))
                else:
                    read_spoiled(KINDS[kind], tmp_path / "real", Path(work), random.Random(seed))
                outcomes.add("accepted")
            except UserError as error:
                check_sentence(error)
                outcomes.add("refused")

    (tmp_path / "real").mkdir()
    if kind != "text":
        KINDS[kind].write(tmp_path / "real")
        read_spoiled(KINDS[kind], tmp_path / "real", tmp_path, None)
    check()
    assert outcomes == {"accepted", "refused"}


def test_a_visitor_with_a_hostile_address_or_text_sees_no_exception(address):
    assert aside(hostile_visitors.visit(address, 7, range(24))).result() == []
