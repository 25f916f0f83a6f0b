"""The hostile campaign's visitors: addresses and texts with faults by chance, sent to a real server over its websocket.

    PYTHONPATH=. python tests/hostile_visitors.py [--seed 1] [--count 400] [--checkpoints 150]

A case is an address that is opened, a text that is asked for on a page, or a checkpoint with faults in its files that a
page shows. It fails where Streamlit's box of an
exception comes, the log has a traceback, or the run is not over within a minute. Memory is the server's most, after all
addresses as they are kept and after the cases.
"""

import argparse
import asyncio
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode

from hostile import hostile_text, write_checkpoint
from support.files import hostile_bytes, hostile_value, spoil
from support.pages import VIEWS
from support.server import ROOT, free_port, wait_for

from benchmarks.websocket_visitor import Run, WebsocketVisitor
from headlight.app.parameters import PARAMETERS
from transformer.data.tokenizer import well_formed

PATIENCE = 300.0  # seconds for a run
KEPT = (ROOT / "tests" / "headlight" / "app" / "addresses.txt").read_text(encoding="utf-8").splitlines()
ADDRESSES = [*(each for each in KEPT if each and not each.startswith("#")), *(each.lstrip("/") for each in VIEWS)]


@contextmanager
def logged(log: Path, **environment: str) -> Iterator[tuple[subprocess.Popen, str]]:
    """A server with these variables, whose output goes to a file; yields its process and address."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", "--server.headless=true"]
    whole = os.environ | {"HEADLIGHT_DEVICE": "cpu", "HEADLIGHT_MODEL_PROCESS": "0"} | environment
    with log.open("w") as out, subprocess.Popen(command, cwd=ROOT, env=whole, stdout=out, stderr=out) as server:
        try:
            wait_for(f"http://localhost:{port}/_stcore/health", server)
            yield server, f"http://localhost:{port}"
        finally:
            server.terminate()


def hostile_query(query: str, chance: random.Random) -> str:
    """What stands behind an address's "?", with one to four values or names that nobody would write."""
    parameters = parse_qsl(query)
    for _ in range(chance.randint(1, 4)):
        names = [name for name, _ in parameters]
        name = chance.choice(names) if names and chance.random() < 0.6 else chance.choice(list(PARAMETERS))
        parameters = [each for each in parameters if each[0] != name or chance.random() < 0.1]
        parameters.append((name, _value(dict(parse_qsl(query)).get(name, ""), chance)))
    query = urlencode(parameters, quote_via=quote, errors="replace")
    if chance.random() < 0.1:
        query = hostile_bytes(query.encode(), chance).decode("utf-8", "replace")
    return query.replace("%3F", chance.choice(("%3F", "%ED%A0%80", "%00", "%")))


def _value(before: str, chance: random.Random) -> str:
    """Another value of a parameter: of another's, with faults, a number, or a text."""
    match chance.randrange(5):
        case 0:
            return well_formed(hostile_text(chance))[:3000]
        case 1:
            return well_formed(str(hostile_value(chance)))[:3000]
        case 2:
            return hostile_bytes(before.encode(), chance).decode("utf-8", "replace")[:3000]
        case 3:
            return re.sub(r"\d+", lambda _: str(chance.choice((0, -1, 1, 7, 99, 10**9, 10**30))), before)
    return chance.choice([value for address in ADDRESSES for _, value in parse_qsl(address.partition("?")[2])])


async def visit(address: str, seed: int, numbers: range) -> list[str]:
    """Open an address and then ask for a text, a case each; returns what went wrong."""
    wrong = []
    for number in numbers[::2]:
        chance = random.Random(f"{seed} visitor {number}")
        page, _, query = chance.choice(ADDRESSES).partition("?")
        query, text = hostile_query(query, chance), well_formed(hostile_text(chance)).replace("\0", "")
        async with WebsocketVisitor(address, page) as visitor:
            for what, ask in ((f"{page}?{query}", visitor.open(query)), (text, visitor.ask(text))):
                wrong += [f"visitor {number}: {what[:300]!r}: {problem}" for problem in await problems(ask)]
    return wrong


async def problems(ask: Awaitable[Run]) -> list[str]:
    """What is wrong with a run: exceptions before the visitor, or no end."""
    try:
        run = await asyncio.wait_for(ask, PATIENCE)
    except TimeoutError:
        return ["hangs"]
    return run.exceptions + [told for told in run.told if "Traceback" in told]


async def show(address: str, shown: Path, real: Path, seed: int, numbers: range) -> list[str]:
    """Put a checkpoint with faults where the server looks for one, and open a page that shows it."""
    wrong = []
    for number in numbers:
        chance = random.Random(f"{seed} shown {number}")
        shutil.rmtree(shown, ignore_errors=True)
        shutil.copytree(real, shown)
        spoil(shown, chance)
        page, _, query = chance.choice(ADDRESSES).partition("?")
        query = urlencode([each for each in parse_qsl(query) if each[0] != "checkpoint"] + [("text", "big red dog.")])
        async with WebsocketVisitor(address, page) as visitor:
            found = await problems(visitor.open(query))
            wrong += [f"shown {number}: {page}?{query}: {problem}" for problem in found]
    return wrong


async def ordinary(address: str) -> None:
    """Open every address as it is kept."""
    for each in ADDRESSES:
        page, _, query = each.partition("?")
        async with WebsocketVisitor(address, page) as visitor:
            assert not (found := await problems(visitor.open(query))), (each, found)


def memory(server: subprocess.Popen) -> int:
    """The most memory that a process has had, MB."""
    status = Path(f"/proc/{server.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) // 1024


def tracebacks(log: Path) -> list[str]:
    said = log.read_text(errors="replace")
    return [said[max(0, found.start() - 300) : found.start() + 3000] for found in re.finditer("Traceback", said)]


def campaign(seed: int, count: int) -> tuple[list[str], int, int]:
    """Run the cases; returns what went wrong, and the memory after all addresses as they are, and after the cases."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with logged(log) as (server, address):
            asyncio.run(ordinary(address))
            before = memory(server)
            wrong = asyncio.run(visit(address, seed, range(count)))
            return [*wrong, *tracebacks(log)], before, memory(server)


def campaign_of_checkpoints(seed: int, count: int) -> tuple[list[str], int, int]:
    """The same for checkpoints with faults; the first number is the memory with a sound one."""
    with tempfile.TemporaryDirectory() as folder:
        log, real, shown = (Path(folder) / name for name in ("log", "real", "checkpoints"))
        write_checkpoint(real)
        shutil.copytree(real, shown / "sound")
        with logged(log, HEADLIGHT_CHECKPOINTS=str(shown)) as (server, address):
            asyncio.run(ordinary(address))
            before = memory(server)
            wrong = asyncio.run(show(address, shown / "sound", real, seed, range(count)))
            return [*wrong, *tracebacks(log)], before, memory(server)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--checkpoints", type=int, default=150)
    options = parser.parse_args()
    any_wrong = False
    for kind, run, count in (
        ("addresses and texts", campaign, options.count),
        ("checkpoints", campaign_of_checkpoints, options.checkpoints),
    ):
        wrong, before, after = run(options.seed, count)
        print(f"{count} cases of {kind}, {len(wrong)} wrong; memory {after} MB ({before} without faults)", flush=True)
        print(*wrong, sep="\n", flush=True)
        any_wrong |= bool(wrong)
    return int(any_wrong)


if __name__ == "__main__":
    sys.exit(main())
