"""Visitors without a browser who keep sending sentences from a thread."""

import asyncio
import itertools
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from websockets.exceptions import ConnectionClosed

from benchmarks.websocket_visitor import WebsocketVisitor, marked

_MARKS = itertools.count(10_000)
_REST = 0.2  # seconds from an answer to the next sentence


def aside(work: Coroutine) -> Future:
    """Run it in a thread of its own: Playwright's loop has this one."""
    with_loop = ThreadPoolExecutor(1)
    future = with_loop.submit(asyncio.run, work)
    with_loop.shutdown(wait=False)
    return future


class Talk:
    """One visitor's: how often the own sentence was answered, how often the connection ended, and what went wrong."""

    def __init__(self, address: str, cookie: str):
        self._address, self._cookie = address, cookie
        self.answered = self.broken = 0
        self.wrong: list[str] = []

    async def go_on(self, over: threading.Event) -> None:
        """Arrive, ask and ask; when the connection ends, come again with the same sentence, as the browser does."""
        mark = next(_MARKS)
        while not over.is_set():
            try:
                async with WebsocketVisitor(self._address, cookie=self._cookie) as visitor:
                    self._note(await visitor.arrive(text=marked("I read.", mark)), mark)
                    while not over.is_set():
                        await asyncio.sleep(_REST)
                        mark = next(_MARKS)
                        self._note(await visitor.ask(marked("I read.", mark)), mark)
            except ConnectionClosed:
                self.broken += 1

    def _note(self, run, mark: int) -> None:
        self.answered += run.marks == {mark}
        self.wrong += run.exceptions
        if run.marks != {mark}:
            self.wrong.append(f"asked for {mark}, got {sorted(run.marks)}")


@contextmanager
def talking(address: str, cookies: list[str]) -> Iterator[list[Talk]]:
    """A visitor for each cookie; they ask until the block ends. What one of them cannot bear is raised then."""
    talks, over = [Talk(address, cookie) for cookie in cookies], threading.Event()

    async def all_of_them() -> None:
        await asyncio.gather(*(talk.go_on(over) for talk in talks))

    running = aside(all_of_them())
    try:
        yield talks
    finally:
        over.set()
    running.result(timeout=300)
