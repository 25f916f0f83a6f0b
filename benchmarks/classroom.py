"""A class over HTTP: participants join within five seconds, wait, and answer within five seconds.

    python -m benchmarks.classroom --participants 30 300 --visitors 10
    python -m benchmarks.classroom --redis redis://localhost:6379/0

Each participant keeps a connection and asks every two seconds, jittered, as the page does. The teacher has a page of
the app open, over its websocket, which looks for answers every second. Printed: how long until all are counted as
here, how long an answer waits for its acknowledgement, what was lost or counted twice, how long after the last
acknowledgement all answers stood on the teacher's screen, and the server's processor time for each participant who
waits. With `--visitors`, so many translate before the class is there, while it waits, and while it answers. The
participants' own work shares the processor with the server.
"""

import argparse
import asyncio
import itertools
import json
import random
import secrets
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from headlight.classroom import FILE_VARIABLE, STORE_VARIABLE, Question, Store, Teacher, open_class
from headlight.classroom.sqlite_store import SqliteStore

from .timing import describe_load, describe_machine, print_table, verdict
from .visit import Server, serve
from .visitors import FIRST_MARK, load
from .websocket_visitor import WebsocketVisitor

ARRIVE = ANSWER = 5.0  # seconds in which all do
EVERY, JITTER = 2.0, 0.25
LOOK = 0.05  # seconds between two looks at what came
SEEN = {30: 2.0, 300: 5.0}  # bars: seconds until all answers of so many are on the teacher's screen
SLOWER, PROCESSOR = 1.2, 3.0  # bars: visitors beside a class, ms a second of a participant who waits
DESK = "class_desk"  # the key of the teacher's strip
OPTIONS = ("It stays the same.", "Its translation is missing.", "Other words change.", "It stops early.")


@dataclass
class Participant:
    """One phone: what it holds, what it was told, and how long its answer took."""

    host: str
    port: int
    path: str
    number: str = field(default_factory=lambda: secrets.token_hex(8))
    version: int = 0
    acknowledged: dict[int, float] = field(default_factory=dict)  # round -> seconds
    failed: int = 0  # requests that were not answered as they should be

    async def connect(self) -> None:
        """Open the connection that all requests share."""
        self._reader, self._writer = await asyncio.open_connection(self.host, self.port)

    async def ask(self, path: str, body: str = "") -> tuple[int, bytes]:
        """Ask for a path below the class's, with a body to send it; returns status and content."""
        head = f"{'POST' if body else 'GET'} {self.path}{path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
        head += f"participant: {self.number}\r\nContent-Length: {len(body)}\r\n\r\n"
        for last in (False, True):
            try:
                self._writer.write((head + body).encode())
                return await self._answer()
            except (ConnectionError, asyncio.IncompleteReadError):
                if last:
                    raise
                await self.connect()  # the server closes one that was silent for five seconds
        raise AssertionError

    async def _answer(self) -> tuple[int, bytes]:
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        length = next((int(line.split(":")[1]) for line in lines if line.startswith("content-length:")), 0)
        return int(lines[0].split()[1]), await self._reader.readexactly(length)

    async def live(self, start: float) -> None:
        """Join after so many seconds, ask for the state for ever, and answer each round once."""
        await asyncio.sleep(start)
        await self.connect()
        await self.ask("")
        while True:
            status, content = await self.ask(f"/state?v={self.version}")
            self.failed += status not in (200, 204)
            state = json.loads(content) if status == 200 else {}
            self.version = state.get("v", self.version)
            if state.get("phase") == "asking" and state["round"] not in self.acknowledged:
                await asyncio.sleep(ANSWER * random.random())
                began, number = time.monotonic(), state["round"]
                body = json.dumps({"round": number, "choice": random.randrange(len(OPTIONS))})
                while (await self.ask("/answer", body))[0] != 200:
                    self.failed += 1
                self.acknowledged[number] = time.monotonic() - began
            await asyncio.sleep(EVERY * (1 - JITTER + 2 * JITTER * random.random()))


class Screen:
    """The teacher's page: a strip below it runs by itself every second."""

    def __init__(self, address: str, teacher: Teacher):
        self._visitor, self._teacher = WebsocketVisitor(address, "translate"), teacher

    async def open(self) -> None:
        """Open the page, and give it the teacher's secret, as her browser does."""
        await self._visitor.__aenter__()
        await self._visitor.arrive(**{"class": self._teacher.code, "text": "I love my teacher."})
        await self._visitor.report(DESK, "rights", self._teacher.secret)

    async def live(self) -> None:
        """Let the strip run by itself for ever."""
        while True:
            await self._visitor.look_again()

    async def close(self) -> None:
        """Leave the page."""
        await self._visitor.__aexit__()

    @property
    def here(self) -> int:
        """Return how many the screen says are here."""
        return self._visitor.components[DESK].data.get("here", 0)

    def answered(self, number: int) -> int:
        """Return how many answers the screen counts in a round."""
        asked = self._visitor.components[DESK].data.get("asked", {})
        return asked["answered"] if asked.get("round") == number else 0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--participants", type=int, nargs="+", default=[30, 300], help="how many, one class each")
    parser.add_argument("--visitors", type=int, default=0, help="how many translate beside it")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each class waits")
    parser.add_argument("--redis", metavar="URL", help="keep classes in this Redis, which is running")
    arguments = parser.parse_args()
    print(f"{describe_machine('streamlit')}; {describe_load()}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "classes.sqlite3"
        store: Store = SqliteStore(path)
        environment = {FILE_VARIABLE: str(path)}
        if arguments.redis:
            from headlight.classroom.redis_store import RedisStore

            store, environment = RedisStore(arguments.redis), {STORE_VARIABLE: arguments.redis}
        with serve("app.py", **environment) as server:
            rows = [
                asyncio.run(measure(server, store, count, arguments.seconds, arguments.visitors))
                for count in arguments.participants
            ]
        store.close()
    head = ["participants", "all here after s", "answer acknowledged, median, 95 %, most ms", "lost, twice, failed"]
    head += ["all on the teacher's screen after s", "processor, ms a second of a participant who waits"]
    print_table("A class", [*head, "visitors' median s before, while it waits, while it answers"], rows)


async def measure(server: Server, store: Store, count: int, seconds: float, visitors: int) -> list[str]:
    """Return a row of the table for one class of so many."""
    teacher = open_class(store)
    screen = Screen(server.address, teacher)
    await screen.open()
    looking = asyncio.create_task(screen.live())
    parts = urlsplit(server.address)
    phones = [Participant(parts.hostname, parts.port, f"{parts.path}/c/{teacher.code}") for _ in range(count)]
    before = await _beside(server, visitors, seconds)
    spent = server.processor_seconds
    await asyncio.sleep(seconds / 2)
    idle = (server.processor_seconds - spent) / (seconds / 2)

    began = time.monotonic()
    tasks = [asyncio.create_task(phone.live(ARRIVE * index / count)) for index, phone in enumerate(phones)]
    while screen.here < count:
        await asyncio.sleep(LOOK)
    here = time.monotonic() - began
    await asyncio.sleep(EVERY)
    spent = server.processor_seconds
    await asyncio.sleep(seconds)
    each = 1e3 * ((server.processor_seconds - spent) / seconds - idle) / count
    waiting = await _beside(server, visitors, seconds)

    answering = asyncio.create_task(_beside(server, visitors, seconds)) if visitors else None
    complete = await _ask(teacher, screen, phones)
    during = float("nan")
    if answering:
        while not answering.done():  # one question after the other
            complete = max(complete, await _ask(teacher, screen, phones))
        during = answering.result()
    kept = [answer.participant for answer in store.answers(teacher.code, 1)]
    teacher.end()
    for task in (looking, *tasks):
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    await screen.close()
    failed = sum(phone.failed for phone in phones) + sum(isinstance(each, Exception) for each in ended)
    took = sorted(1e3 * wait for phone in phones for wait in phone.acknowledged.values())
    beside = verdict(max(waiting, during) / before, SLOWER)
    return [
        str(count),
        f"{here:.1f}",
        f"{statistics.median(took):.0f}, {took[int(0.95 * len(took))]:.0f}, {took[-1]:.0f}",
        f"{count - len(set(kept))}, {len(kept) - len(set(kept))}, {failed}",
        verdict(complete, SEEN.get(count, SEEN[300])),
        verdict(each, PROCESSOR),
        f"{before:.3f}, {waiting:.3f}, {during:.3f}: {beside}" if visitors else "",
    ]


async def _ask(teacher: Teacher, screen: Screen, phones: list[Participant]) -> float:
    """Ask a question; return how long after the last acknowledgement all answers were on the teacher's screen."""
    number = teacher.ask(Question("What happens to the translation?", OPTIONS)).current.number
    last = 0.0
    while screen.answered(number) < len(phones):
        if not last and all(number in phone.acknowledged for phone in phones):
            last = time.monotonic()
        await asyncio.sleep(LOOK)
    teacher.reveal()
    return time.monotonic() - last if last else 0.0


async def _beside(server: Server, visitors: int, seconds: float) -> float:
    """Return the median of visitors who translate, NaN without any."""
    if not visitors:
        return float("nan")
    marks = itertools.count(FIRST_MARK + random.randrange(80_000))
    return (await load(server.address, "translate", visitors, 5.0, seconds, marks)).quantile(0.5)


if __name__ == "__main__":
    main()
