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
from transformer.arrays import read_only
from transformer.model.device import choose_device, usable_cores

from .model_process import EARLY_LAYERS, TRACE, Answer, DecodingRequest

logger = logging.getLogger(__name__)

SWITCH = "HEADLIGHT_MODEL_PROCESS"  # "0" in the environment: no second process
CROWD = 3  # visitors in the line for whom the process is started
AHEAD = 16  # requests, first come first, whose answers are made
BATCH = 8  # of them decoded together
# Bytes of a text. All that the process may not have read yet fits into the smallest pipe (8 kB), so that who sends
# never waits for who reads; and nobody waits for a batch that is as long as its longest text.
_LONGEST = 300
_BUSY = 4  # answers still to be made beside which the process is asked for no more
_FORGOTTEN = 10.0  # seconds after which an answer is dropped whose owner has left the line without it
_FAILURES = 2  # ends of the process in the middle of its work after which it is not started again
_WAIT = 1.0  # seconds for an answer that is being made, after which one makes it oneself
_PATIENCE = 60.0  # seconds for an answer, after which the process is taken for dead
_PROCESS = Path(__file__).with_name("model_process.py")
# What finds modules in the project's folder, whatever its name, and none in the process's own.
_RUN = "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); runpy.run_path(sys.argv.pop(1), run_name='__main__')"


def is_wanted() -> bool:
    """Whether a second process would help: there is a core for it, the model is not on a GPU, and nobody forbids it."""
    is_free = os.name == "posix" and usable_cores() > 1 and choose_device().type == "cpu"
    return is_free and os.environ.get(SWITCH) != "0"


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

    def __init__(self, line: Callable[[], Sequence[DecodingRequest]], kept: int):
        self._line = line
        self._lock = threading.Lock()
        self._asked: dict[DecodingRequest, _Asked] = {}
        self._under_way: deque[_Asked] = deque()  # they come in the order in which they were asked for
        self._taken: dict[str, deque[DecodingRequest]] = {what: deque(maxlen=kept) for what in (TRACE, EARLY_LAYERS)}
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
                self._ask(self._connection, [each for each in dict.fromkeys(line[:AHEAD]) if self._is_new(each)])
            elif _crowd(line) >= CROWD and not self._starts and self._failures < _FAILURES and is_wanted():
                self._starts = self._start()

    def take(self, request: DecodingRequest) -> Answer | None:
        """The answer to a request where it has been made or is being made; None for who has to make it himself."""
        with self._lock:
            asked = self._asked.get(request)
            self._taken[request[0]].append(request)
        if asked is None:
            return None
        try:
            return asked.made.result(_WAIT)
        except TimeoutError:
            return None
        finally:
            with self._lock:
                self._asked.pop(request, None)
            self.look()

    def _ask(self, process: Connection, requests: Sequence[DecodingRequest]) -> None:
        """Ask for a batch of these, of one checkpoint, unless there is enough under way."""
        if not requests or len(self._under_way) > _BUSY:
            return
        requests = [request for request in requests if request[1:3] == requests[0][1:3]][:BATCH]
        try:
            process.send(requests)
        except OSError:  # it has just ended, and whoever waits for it will hear of it
            return
        asked = [_Asked() for _ in requests]
        self._asked.update(zip(requests, asked, strict=True))
        self._under_way.extend(asked)

    def _is_new(self, request: DecodingRequest) -> bool:
        return request not in self._asked and request not in self._taken[request[0]] and _bytes(request[3]) <= _LONGEST

    def _forget(self, line: Sequence[DecodingRequest]) -> None:
        """Drop what nobody will take, and end a process that hangs."""
        if self._process and self._under_way and self._under_way[0].since < time.monotonic() - _PATIENCE:
            self._process.kill()
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
        try:
            ours, theirs = Pipe()
            with ours:
                with theirs:
                    self._process = _process(theirs)
                ours.recv()  # it has read PyTorch
                self._connection = ours
                while True:
                    self.look()
                    if ours.poll(_FORGOTTEN):
                        self._arrived(ours.recv())
        except (EOFError, OSError):  # it has ended, or could not be started
            pass
        except Exception:
            logger.warning("what the process of the model says cannot be read", exc_info=True)
        finally:
            self._ended()

    def _arrived(self, answer: Answer | None) -> None:
        with self._lock:
            asked = self._under_way.popleft()
        asked.made.set_result(_read_only(answer))

    def _ended(self) -> None:
        with self._lock:
            process, unmade = self._process, list(self._under_way)
            failed = self._connection is None or bool(unmade)  # before it could be asked, or in the middle of its work
            self._process, self._connection, self._starts = None, None, False
            self._asked.clear()
            self._under_way.clear()
            self._failures += failed
        if process:
            process.kill()
            process.wait()
        for asked in unmade:
            asked.made.set_result(None)
        if failed:
            logger.warning("the process of the model could not be started, or ended in the middle of its work")


def _process(connection: Connection) -> subprocess.Popen[bytes]:
    """Start it, in a session of its own: Ctrl+C ends the server, and that ends it."""
    number = connection.fileno()
    command = [sys.executable, "-P", "-c", _RUN, str(_PROCESS.parents[3]), str(_PROCESS), str(number)]
    return subprocess.Popen(command, pass_fds=[number], stdin=subprocess.DEVNULL, start_new_session=True)


def _crowd(line: Sequence[DecodingRequest]) -> int:
    """How many translations a line waits for."""
    return len({request[1:] for request in line})


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _read_only(answer: Answer | None) -> Answer | None:
    """A trace as it was before it was sent, which makes its arrays writable; anything else as it is."""
    for value in vars(answer).values() if isinstance(answer, Trace) else ():
        if isinstance(value, np.ndarray):
            read_only(value)
    return answer
