"""Hostile files, texts and addresses; `--hypothesis-profile=campaign` runs 2,500 cases of each kind."""

import asyncio
import random
import re
import tempfile
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode

import pytest
from hostile import KINDS, check_sentence, hostile_text, read_spoiled, trace_hostile_text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.files import hostile_bytes, hostile_value
from support.source_files import ROOT
from support.visitors import aside

from benchmarks.websocket_visitor import WebsocketVisitor
from headlight.app.parameters import PARAMETERS
from transformer.data.tokenizer import well_formed
from transformer.errors import UserError

settings.register_profile("campaign", max_examples=2500)
SETTINGS = settings(deadline=60_000, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
LINES = (ROOT / "tests" / "headlight" / "app" / "addresses.txt").read_text(encoding="utf-8").splitlines()
ADDRESSES = [line for line in LINES if line and not line.startswith("#")]


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


def hostile_query(query: str, chance: random.Random) -> str:
    """Return a query with one to four of its values replaced."""
    parameters = dict(parse_qsl(query))
    for _ in range(chance.randint(1, 4)):
        name = chance.choice([*parameters, *chance.sample(list(PARAMETERS), 3)])
        before = parameters.get(name, "")
        texts = (
            hostile_text(chance),
            str(hostile_value(chance)),
            hostile_bytes(before.encode(), chance).decode("latin1"),
        )
        numbers = re.sub(r"\d+", lambda _: str(chance.choice((0, -1, 1, 7, 99, 10**9, 10**30))), before)
        parameters[name] = well_formed(chance.choice((*texts, numbers)))[:3000]
    return urlencode(parameters, quote_via=quote).replace("%3F", chance.choice(("%3F", "%ED%A0%80", "%00", "%")))


async def visit(address: str, chance: random.Random) -> list[str]:
    """Open a hostile address and then send a hostile text; return the exceptions, or that a run does not end."""
    page, _, query = chance.choice(ADDRESSES).partition("?")
    failures = []
    async with WebsocketVisitor(address, page) as visitor:
        text = well_formed(hostile_text(chance)).replace("\0", "")
        for run in (visitor.open(hostile_query(query, chance)), visitor.ask(text)):
            ended = await asyncio.wait_for(run, 300)
            failures += ended.exceptions + [message for message in ended.messages if "Traceback" in message]
    return failures


@pytest.mark.parametrize("seed", range(12))
def test_a_visitor_with_a_hostile_address_or_text_sees_no_exception(address, seed):
    assert aside(visit(address, random.Random(seed))).result() == []
