"""A class without a browser: its clock, a server of its routes alone, and phones that speak HTTP."""

import http.client
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from support.server import free_port, until

from headlight.classroom import admission
from headlight.classroom.routes import class_routes, refusal_of
from headlight.classroom.sqlite_store import SqliteStore
from headlight.classroom.store import Outcome

WAITING = refusal_of(Outcome.WAITING).sentence("en")


class Clock:
    """A clock that stands still until a test puts it forward."""

    def __init__(self):
        self._start, self.ahead = time.time(), 0.0

    def __call__(self) -> float:
        return self._start + self.ahead


@contextmanager
def served(store: Callable[[], SqliteStore]) -> Iterator[str]:
    """The routes alone, in a thread; yields their address."""
    config = uvicorn.Config(Starlette(routes=class_routes(store)), port=free_port(), log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started)
        yield f"http://127.0.0.1:{config.port}"
    finally:
        server.should_exit = True
        thread.join()


class Phone:
    """A participant's browser: its requests, and the answers by status and content. source: its address for a proxy."""

    def __init__(self, address: str, code: str, number: str | None = None, source: str = ""):
        parts = urlsplit(address)
        self._host, self._door, self.code = parts.netloc, f"{parts.path}/c", code
        self.number, self.source = number or secrets.token_hex(8), source
        self._connection = http.client.HTTPConnection(self._host, timeout=300)

    def __del__(self):
        self._connection.close()

    def ask(self, path: str, method: str = "GET", body: str | None = None, **headers: str) -> tuple[int, bytes]:
        """Ask for a path below the door's; a connection that the server has closed is opened again, once."""
        if self.source:
            headers["X-Forwarded-For"] = self.source
        for last in (False, True):
            try:
                self._connection.request(method, self._door + path, body, headers)
                self.response = self._connection.getresponse()
                return self.response.status, self.response.read()
            except (http.client.HTTPException, ConnectionError):
                self._connection.close()
                if last:
                    raise
        raise AssertionError

    def state(self, known: int = 0) -> tuple[int, dict]:
        """The class's state, for who knows a version of it; asked twice by a newcomer."""
        return self._asked_twice(f"/{self.code}/state?v={known}")

    def answer(self, number: int, choice: object) -> tuple[int, dict]:
        """Answer in a round."""
        body = json.dumps({"round": number, "choice": choice})
        return self._asked_twice(f"/{self.code}/answer", "POST", body)

    def _asked_twice(self, *request: str) -> tuple[int, dict]:
        status, content = self._json(*self.ask(*request, participant=self.number))
        if content.get("error") == WAITING:
            time.sleep(admission.ASK_AGAIN)
            return self._json(*self.ask(*request, participant=self.number))
        return status, content

    @staticmethod
    def _json(status: int, body: bytes) -> tuple[int, dict]:
        """Parse a response; those of nginx itself are HTML."""
        return status, json.loads(body) if body.startswith(b"{") else {}


class Crowd:
    """Participants of a class who answer one after the other, each until it is acknowledged, in several threads."""

    def __init__(self, address: str, code: str):
        self._address, self._code = address, code
        self.acknowledged: set[str] = set()  # their numbers
        self.failed = 0  # requests that got no answer, or one that asks for patience

    def answer(self, choice: object, over: threading.Event) -> None:
        """Send one participant after the other into the first round, until it is `over`."""
        while not over.is_set():
            source = f"10.{secrets.randbelow(256)}.{secrets.randbelow(256)}.{secrets.randbelow(256)}"
            phone, status = Phone(self._address, self._code, source=source), 0
            while status != 200 and not over.is_set():
                try:
                    status, _ = phone.answer(1, choice)
                except (OSError, http.client.HTTPException):
                    status = 0
                if status != 200:
                    self.failed += 1
                    over.wait(0.02)  # as a phone, which does not ask again at once
            if status == 200:
                self.acknowledged.add(phone.number)


@contextmanager
def crowd(address: str, code: str, phones: int = 4) -> Iterator[Crowd]:
    """A crowd that answers until the block ends."""
    participants, over = Crowd(address, code), threading.Event()
    running = [threading.Thread(target=participants.answer, args=(0, over)) for _ in range(phones)]
    for thread in running:
        thread.start()
    try:
        yield participants
    finally:
        over.set()
        for thread in running:
            thread.join()
