"""One queue for the model: one visitor's run at a time, and in a batch what several of those who wait will ask for.

Python runs one thread at once, and each of a decoding's thousand small operations gives the interpreter away and waits
to have it back: thirty runs side by side get less done than one. In a line three hundred visitors are served as fast
as three. What they will ask for is computed ahead of their turns by a second process, on another core, once several
wait, and else by the first of them: 300 visitors on two cores get 50 sentences a second with the process, 20 without.
`concurrent.futures.ProcessPoolExecutor` would run the app's script again in its process, and leave it behind when the
server is killed.
"""

import contextlib
import logging
import os
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

from transformer.errors import UserError
from transformer.model.device import choose_device, usable_cores
from transformer.toy.lifeline import end_with_standard_input

logger = logging.getLogger(__name__)

SWITCH = "HEADLIGHT_MODEL_PROCESS"  # "0" in the environment: no second process
BATCH = 16  # requests computed together, and ahead of their owners' turns
CROWD = 3  # different requests in the line for which the process is started
KEPT = 64  # results that are remembered
_COMMAND = [sys.executable, "-m", "headlight.app.model_queue"]
_FOLDER = Path(__file__).parents[2]  # of the package, where the process finds it
_FAILURES = 2  # of the process, after which it is not started again
_IDLE = 300.0  # seconds without a request after which the process ends and gives its memory back
_HANGS = 60.0  # seconds without a result after which the process is killed
_WAIT = 1.0  # seconds for a result that is being computed, after which its owner computes it
_CROWDED = 2.0  # seconds for which there is a crowd after someone had to wait
_PATIENCE = 5.0  # seconds for which slow tasks let all others go first
_TELL = 1.0  # seconds before someone who waits hears how many are ahead, and between that and the next word
_TELL_EACH = 0.05  # seconds more for each who is ahead: three hundred words a second are work too
_TELL_SLOW = 0.2  # seconds for who lets all others go first, and may want something else meanwhile


@dataclass(frozen=True)
class Request:
    """What can be computed ahead of its owner's turn, in a batch with others of the same `compute` and `model`.

    compute: an importable generator function of the model and the batch's items, which yields each one's result in
    order: None, or nothing after a failure, where the owner is to try alone.
    """

    compute: Callable[[Any, Sequence[Any]], Iterable[Any]]
    model: Hashable
    item: Hashable


class _Place:
    """A place in the line, and what its owner will ask for when served."""

    def __init__(self, request: Request | None):
        self.request, self.served = request, threading.Event()


class ModelQueue:
    """Turns, first come first served, and the results of what those who wait for one will ask for."""

    def __init__(self) -> None:
        self._changed = threading.Condition()  # the lock of all below; told when the line changes
        self._own = threading.local()  # of each thread: whether it has a turn, is slow, and who hears of its waiting
        self._free = True
        self._line: deque[_Place] = deque()
        self._slow: deque[_Place] = deque()  # who lets all in the line go first
        self._is_slow = False  # whether the turn is a slow task's
        self._slow_since = float("-inf")  # when a slow task last had a turn, or began to wait for one
        self._waited = float("-inf")  # until when someone had to wait for another visitor
        self._results: OrderedDict[Request, Future[Any]] = OrderedDict()
        self._has_thread = self._has_process = False  # the thread of the process, and a process that takes requests
        self._failures = 0

    @contextlib.contextmanager
    def turn(
        self, request: Request | None = None, tell: Callable[[int], object] = lambda ahead: None, slow: bool = False
    ) -> Iterator[None]:
        """Wait for a turn, which ends with the block; whoever has one may ask again.

        request: what will be asked for; slow: others go first for some seconds, those who come later too. `tell` hears
        now and then how many are ahead, and 0 at last if it heard anything; what it raises ends the waiting: a visitor
        who has left need not be served.
        """
        if self.has_turn():
            yield
            return
        self._own.slow, self._own.tell = slow, tell
        self._wait(request, self._slow.append if slow else self._line.append)
        try:
            yield
        finally:
            self._pass_on()

    def submit(self, request: Request | None = None) -> None:
        """Let those in the line go first, while the request is computed with theirs; does nothing where nobody waits.

        To be called before what is long or between its parts, never inside a cached function: someone else, whose turn
        it is, may wait for its result.
        """
        with self._changed:
            is_worth_it = bool(self._line) and request not in self._results
        if is_worth_it and self.has_turn():
            self._pass_on()
            self._wait(request, self._slow.appendleft if self._own.slow else self._line.append)

    def result(self, request: Request | None) -> Any:
        """Return what has been, is being or can now be computed with others; None if the caller must compute it."""
        if request is None:
            return None
        with self._changed:
            batch = self._batch([request] if self._has_process else [request, *self._requests()])
            futures = self._note(batch if request in batch else [])
            found = self._results[request]
        if len(futures) > 1:
            _fulfil(futures, _compute(list(futures)))
        elif futures:  # whoever asks computes it, and nobody else
            found.set_result(None)
        try:
            return found.result(_WAIT)
        except TimeoutError:
            return None

    def has_turn(self) -> bool:
        """Return whether it is the calling thread's turn."""
        return getattr(self._own, "turn", False)

    def is_calm(self) -> bool:
        """Return whether nobody waits, or did a moment ago: a slow task need not let others go first."""
        with self._changed:
            return not (self._line or self._slow or time.monotonic() - self._waited < _CROWDED)

    def _wait(self, request: Request | None, join: Callable[[_Place], None]) -> None:
        """Wait for a turn in the line that is joined so."""
        place = _Place(request)
        with self._changed:
            if self._free:
                self._free, self._is_slow, self._own.turn = False, self._own.slow, True
                return
            if self._own.slow and not self._slow:
                self._slow_since = time.monotonic()
            join(place)
            for_visitor = not (self._own.slow or self._is_slow)
            self._changed.notify_all()
        self._start_process()
        try:
            self._wait_and_tell(place)
        except BaseException:
            with self._changed:
                served = place.served.is_set()  # the turn has come meanwhile
                if not served:
                    (self._slow if place in self._slow else self._line).remove(place)
            if served:
                self._pass_on()
            raise
        self._own.turn = True
        if for_visitor:
            self._waited = time.monotonic()

    def _wait_and_tell(self, place: _Place) -> None:
        position = 0
        while not place.served.wait(_TELL_SLOW if self._own.slow else _TELL + _TELL_EACH * position):
            with self._changed:
                waiting = [*self._line, *self._slow]
            if place in waiting:
                position = waiting.index(place) + 1
                self._own.tell(position)
        if position:
            self._own.tell(0)

    def _pass_on(self) -> None:
        self._own.turn = False
        with self._changed:
            now = time.monotonic()
            self._is_slow = bool(self._slow) and (not self._line or now - self._slow_since > _PATIENCE)
            line = self._slow if self._is_slow else self._line
            self._slow_since = now if self._is_slow else self._slow_since
            self._free = not line
            if line:
                line.popleft().served.set()
            self._changed.notify_all()  # others are next in the line

    def _requests(self) -> list[Request]:
        """Return what those in the line will ask for, first come first; for whoever holds the lock, as the next two."""
        return [place.request for place in self._line if place.request]

    def _batch(self, requests: Iterable[Request]) -> list[Request]:
        """Return the first that has no result yet and others of its kind, each once."""
        new = [request for request in dict.fromkeys(requests) if request not in self._results]
        return [each for each in new if (each.compute, each.model) == (new[0].compute, new[0].model)][:BATCH]

    def _note(self, batch: Iterable[Request]) -> dict[Request, Future[Any]]:
        """Return where the result of each will be, and remember it."""
        futures: dict[Request, Future[Any]] = {request: Future() for request in batch}
        self._results.update(futures)
        while len(self._results) > KEPT:
            self._results.popitem(last=False)
        return futures

    def _start_process(self) -> None:
        """Start the process where many wait and it would help: it has a core, the model is not on a GPU."""
        with self._changed:
            if self._has_thread or self._failures >= _FAILURES or len(set(self._requests())) < CROWD:
                return
            is_free = os.environ.get(SWITCH) != "0" and os.name == "posix" and usable_cores() > 1
            if is_free and choose_device().type == "cpu":
                with contextlib.suppress(RuntimeError):  # no more threads: whoever comes next tries again
                    threading.Thread(target=self._run_process, name="model process", daemon=True).start()
                    self._has_thread = True

    def _run_process(self) -> None:
        """Have a process compute what those next in the line will ask for, until nobody waits any more, or it fails."""
        process = None
        try:
            ours, theirs = Pipe()
            with ours:
                with theirs:  # in a session of its own: Ctrl+C ends the server, and that ends the process
                    number = theirs.fileno()
                    command = [*_COMMAND, str(number)]
                    process = Popen(command, cwd=_FOLDER, pass_fds=[number], start_new_session=True, stdin=PIPE)
                _receive(ours)  # it has read PyTorch
                while futures := self._next():
                    _fulfil(futures, _compute_in(ours, list(futures)))
        except Exception:  # it could not be started, has ended, hangs, or cannot be understood
            logger.warning("the process of the model failed", exc_info=True)
            self._failures += 1
        finally:
            with self._changed:
                self._has_process = self._has_thread = False
            if process:
                process.kill()
                process.communicate()

    def _next(self) -> dict[Request, Future[Any]]:
        """Wait for a batch that is to be computed ahead; none where for long nobody has come."""
        with self._changed:
            self._has_process = True
            self._changed.wait_for(lambda: self._batch(self._requests()[:BATCH]), _IDLE)
            futures = self._note(self._batch(self._requests()[:BATCH]))
            self._has_process = bool(futures)
            return futures


def _fulfil(futures: dict[Request, Future[Any]], results: Iterator[Any]) -> None:
    """Give each request its result as it comes; None where something ends that."""
    try:
        for future, result in zip(futures.values(), results, strict=True):
            future.set_result(result)
    finally:
        for future in futures.values():
            if not future.done():
                future.set_result(None)


def _compute(batch: Sequence[Request]) -> Iterator[Any]:
    """Compute the result of each request of a batch; None from a failure on, which its owner meets alone."""
    results = iter(batch[0].compute(batch[0].model, [request.item for request in batch]))
    for _ in batch:
        try:
            result = next(results, None)
        except Exception as error:
            result = None
            if not isinstance(error, UserError):
                logger.warning("a batch failed", exc_info=True)
        yield result


def _compute_in(process: Connection, batch: Sequence[Request]) -> Iterator[Any]:
    """Have the process compute the same."""
    process.send(batch)
    for _ in batch:
        yield _receive(process)


def _receive(process: Connection) -> Any:
    if not process.poll(_HANGS):
        raise TimeoutError("no result")
    return process.recv()


def _serve(connection: Connection) -> None:
    """Say that it can begin, then send the results of each batch that comes, until the server ends."""
    with contextlib.suppress(EOFError, OSError):
        connection.send(None)
        while True:
            for result in _compute(connection.recv()):
                connection.send(result)


if __name__ == "__main__":
    end_with_standard_input()
    with Connection(int(sys.argv[1])) as opened:
        _serve(opened)
