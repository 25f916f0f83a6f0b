"""Translations made ahead of their owners' turns, by a process of its own.

Python runs one thread of a process at once. While a page is drawn for one visitor, what those next in the line will
ask for is decoded together and traced by a second process, on another core. It is started with the first crowd and
ends when nobody has needed it for a while: who is alone never pays for it. Whatever it does not do, such as a beam
search, is done by the one who asks for it, in his turn.
"""

import logging
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from transformer import Trace
from transformer.model.device import choose_device

from .model_process import EARLY_LAYERS, TRACE, Answer, Request

logger = logging.getLogger(__name__)

SWITCH = "HEADLIGHT_MODEL_PROCESS"  # "0" in the environment: no second process
CROWD = 3  # visitors in the line for whom the process is started
AHEAD = 16  # requests, first come first, whose answers are made
BATCH = 8  # of them decoded together
_LONGEST = 1000  # characters of a text: what is sent must fit into the pipe, or who sends waits for who reads
_BUSY = 4  # answers still to be made beside which the process is asked for no more
_FORGOTTEN = 10.0  # seconds after which an answer is dropped whose owner has left the line without it
_FAILURES = 2  # ends of the process in the middle of its work after which it is not started again
_PATIENCE = 30.0  # seconds for an answer, after which the process is taken for dead
_PROCESS = Path(__file__).with_name("model_process.py")


def is_wanted() -> bool:
    """Whether a second process would help: there is a core for it, the model is not on a GPU, and nobody forbids it."""
    cores = os.cpu_count() or 1
    return os.environ.get(SWITCH) != "0" and os.name == "posix" and cores > 1 and choose_device().type == "cpu"


class _Asked:
    """What the process has been asked for; None where it has no answer."""

    def __init__(self) -> None:
        self.made: Future[Answer | None] = Future()
        self.since = time.monotonic()


class Ahead:
    """What those in the line will ask for, made ahead: `look` when the line grows, `take` when it is one's turn.

    line: gives the requests of those in the line, first come first; kept: how many answers of a kind are kept by those
    who have taken them.
    """

    def __init__(self, line: Callable[[], Sequence[Request]], kept: int):
        self._line = line
        self._lock = threading.Lock()
        self._asked: dict[Request, _Asked] = {}
        self._under_way: deque[_Asked] = deque()  # they come in the order in which they were asked for
        self._taken: dict[str, deque[Request]] = {what: deque(maxlen=kept) for what in (TRACE, EARLY_LAYERS)}
        self._starts = False
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None  # once the process takes requests
        self._failures = 0

    @property
    def works(self) -> bool:
        """Whether the process is there and takes requests."""
        return self._connection is not None

    def look(self) -> None:
        """Have the process make what those next in the line will ask for; start it where many wait."""
        line = self._line()
        with self._lock:
            self._forget(line)
            if self._connection:
                self._ask(
                    self._connection, [each for each in dict.fromkeys(line[:AHEAD]) if self._is_new(each)][:BATCH]
                )
            elif len(line) >= CROWD and not self._starts and self._failures < _FAILURES and is_wanted():
                self._starts = self._start()

    def take(self, request: Request) -> Answer | None:
        """The answer to a request where it has been made or is being made; None for who has to make it himself."""
        with self._lock:
            asked = self._asked.get(request)
            self._taken[request[0]].append(request)
        if asked is None:
            return None
        try:
            return asked.made.result(_PATIENCE)
        except TimeoutError:
            self.close()
            return None
        finally:
            with self._lock:
                self._asked.pop(request, None)
            self.look()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._process:
                self._process.kill()

    def _ask(self, process: Connection, requests: Sequence[Request]) -> None:
        if not requests or len(self._under_way) > _BUSY:
            return
        try:
            process.send(requests)
        except OSError:  # it has just ended, and whoever waits for it will hear of it
            return
        asked = [_Asked() for _ in requests]
        self._asked.update(zip(requests, asked, strict=True))
        self._under_way.extend(asked)

    def _is_new(self, request: Request) -> bool:
        return request not in self._asked and request not in self._taken[request[0]] and len(request[3]) <= _LONGEST

    def _forget(self, line: Sequence[Request]) -> None:
        long_ago = time.monotonic() - _FORGOTTEN
        for request, asked in list(self._asked.items()):
            if asked.made.done() and asked.since < long_ago and request not in line:
                del self._asked[request]

    def _start(self) -> bool:
        try:
            threading.Thread(target=self._listen, name="ahead", daemon=True).start()
        except RuntimeError:  # no more threads
            return False
        return True

    def _listen(self) -> None:
        """Start the process and take what it makes, until it ends."""
        ours, theirs = Pipe()
        try:
            with theirs:
                self._process = _process(theirs)
            ours.recv()  # it has read PyTorch
            self._connection = ours
            while True:
                self.look()
                answer = ours.recv()
                with self._lock:
                    asked = self._under_way.popleft()
                asked.made.set_result(_read_only(answer))
        except (EOFError, OSError):  # it has ended, or could not be started
            pass
        finally:
            self._ended()
            ours.close()

    def _ended(self) -> None:
        with self._lock:
            process, self._process, self._connection, self._starts = self._process, None, None, False
            unmade = list(self._under_way)
            self._under_way.clear()
            self._failures += process is None or bool(unmade)
        if process:
            process.kill()
            process.wait()
        for asked in unmade:
            asked.made.set_result(None)
        if unmade or process is None:
            logger.warning("the process of the model ended in the middle of its work, or could not be started")


def _process(connection: Connection) -> subprocess.Popen[bytes]:
    """Start it. Its own folder is none of those in which it looks for modules (-P), but the project's is."""
    root, number = str(_PROCESS.parents[1]), connection.fileno()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])}
    command = [sys.executable, "-P", str(_PROCESS), str(number)]
    return subprocess.Popen(  # in a session of its own: Ctrl+C ends the server, and that ends it
        command, pass_fds=[number], env=environment, stdin=subprocess.DEVNULL, start_new_session=True
    )


def _read_only(answer: Answer | None) -> Answer | None:
    """A trace as it was before it was sent, which makes its arrays writable; anything else as it is."""
    for value in vars(answer).values() if isinstance(answer, Trace) else ():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return answer
