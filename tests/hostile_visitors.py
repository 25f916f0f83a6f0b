"""Visitors of the hostile campaign: drawn addresses and texts, sent to a real server over its websocket.

    PYTHONPATH=. python tests/hostile_visitors.py [--seed 1] [--count 400]

A case is an address or a text. It fails on an exception on the page, a traceback in the log, or a run that does not
end. Memory is the server's maximum before and after the cases.
"""

import argparse
import asyncio
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode

from hostile import hostile_text
from support.files import hostile_bytes, hostile_value
from support.pages import VIEWS
from support.server import ROOT, free_port, wait_for

from benchmarks.websocket_visitor import Run, WebsocketVisitor
from headlight.app.parameters import PARAMETERS
from transformer.data.tokenizer import well_formed

PATIENCE = 300.0  # seconds for a run
EXAMPLES = (ROOT / "tests" / "headlight" / "app" / "addresses.txt").read_text(encoding="utf-8").splitlines()
ADDRESSES = [*(each for each in EXAMPLES if each and not each.startswith("#")), *(each.lstrip("/") for each in VIEWS)]


@contextmanager
def logged(log: Path, **environment: str) -> Iterator[tuple[subprocess.Popen, str]]:
    """Start a server whose output goes to a file; yield its process and address."""
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
    """Return a query with one to four of its values or names replaced."""
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
    """Draw another value of a parameter: a text, a damaged value, other numbers, or a value of another parameter."""
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
    """Open an address and then ask for a text, a case each; return the failures."""
    wrong = []
    for number in numbers[::2]:
        chance = random.Random(f"{seed} visitor {number}")
        page, _, query = chance.choice(ADDRESSES).partition("?")
        query, text = hostile_query(query, chance), well_formed(hostile_text(chance)).replace("\0", "")
        async with WebsocketVisitor(address, page) as visitor:
            for case, run in ((f"{page}?{query}", visitor.open(query)), (text, visitor.ask(text))):
                wrong += [f"visitor {number}: {case[:300]!r}: {problem}" for problem in await problems(run)]
    return wrong


async def problems(run: Awaitable[Run]) -> list[str]:
    """Return the failures of a run: exceptions on the page, or no end."""
    try:
        ended = await asyncio.wait_for(run, PATIENCE)
    except TimeoutError:
        return ["hangs"]
    return ended.exceptions + [message for message in ended.messages if "Traceback" in message]


async def open_all(address: str) -> None:
    """Open every example address."""
    for each in ADDRESSES:
        page, _, query = each.partition("?")
        async with WebsocketVisitor(address, page) as visitor:
            assert not (failures := await problems(visitor.open(query))), (each, failures)


def memory(server: subprocess.Popen) -> int:
    """Return the maximum memory of a process, MB."""
    return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{server.pid}/status").read_text())[1]) // 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=400)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with logged(log) as (server, address):
            asyncio.run(open_all(address))
            before = memory(server)
            wrong = asyncio.run(visit(address, options.seed, range(options.count)))
            text, after = log.read_text(errors="replace"), memory(server)
    wrong += [text[max(0, each.start() - 300) : each.start() + 3000] for each in re.finditer("Traceback", text)]
    print(f"{options.count} cases, {len(wrong)} wrong; memory {after} MB ({before} before)", *wrong, sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
