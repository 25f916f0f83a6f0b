"""Serialise runs of the model, and compute the translations of waiting visitors together.

Each of the thousand small operations of a decoding releases Python's interpreter and waits for it: thirty runs side by
side are slower than in turn. Once several visitors wait, a second process computes their translations in batches while
this process draws pages; on two cores that triples the throughput.
"""

import contextlib
import logging
import os
import signal
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.model.device import choose_device, usable_cores

from .finding import Templates

logger = logging.getLogger(__name__)

Tell = Callable[[int], object]  # called with the number of visitors ahead
Result = TypeVar("Result")
SWITCH = "HEADLIGHT_MODEL_PROCESS"  # "0" in the environment: no second process
BATCH = 16  # requests per batch
CROWD = 3  # different requests in the line that start the process
RESULTS = 64  # kept of batches
_PATIENCE = 1.0  # seconds until a visitor hears of the line, or computes what the process has not returned


@dataclass(frozen=True)
class Request:
    """Request that can be computed in a batch with others of the same `compute` and `model`.

    compute: an importable generator function of the model and the items, which yields one result per item; None where
    the caller is to compute the item alone, to meet its error.
    """

    compute: Callable[[Any, Sequence[Any]], Iterable[Any]]
    model: Hashable
    item: Hashable


class ModelQueue:
    """Turns in the order of arrival, and results that were computed in batches."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._thread = threading.local()  # `turn`: whether it is this thread's; `tell` as in the method `turn`
        self._busy = False
        self.line: OrderedDict[threading.Event, Request | None] = OrderedDict()  # of those who wait for their event
        self._results: OrderedDict[Request, Future[dict[Request, Any]]] = OrderedDict()
        self._process: ProcessPoolExecutor | None = None
        self._is_computing, self._starts = False, 2  # the process, and how often it may yet be started: it may fail

    @contextlib.contextmanager
    def turn(self, request: Request | None = None, tell: Tell = lambda ahead: None) -> Iterator[None]:
        """Wait for a turn, which ends with the block; a turn may be nested in another.

        request: what the caller will ask for. tell: is called from time to time in a long line, at last with 0; it
        raises to cancel the waiting of a visitor who has left.
        """
        if self.has_turn():
            yield
            return
        self._thread.tell = tell
        self._wait(request)
        try:
            yield
        finally:
            self._pass_on()

    def let_others_go_first(self) -> None:
        """Go to the end of the line, if there is one.

        Call it between the parts of a long task, not inside a cached function: others may wait for its result.
        """
        if self.line and self.has_turn():
            self._pass_on()
            self._wait(None)

    def result(self, request: Request | None) -> Any:
        """Return the result of a batch, computed now if visitors wait; None if the caller must compute it alone."""
        if request is None:
            return None
        batch: list[Request] = []
        with self._lock:
            if request not in self._results:
                batch = [request] if self._process else self._batch(request)
                self._results.update(dict.fromkeys(batch, Future()))
            future = self._results[request]
            while len(self._results) > RESULTS:
                self._results.popitem(last=False)
        if batch:
            future.set_result(_compute(batch) if len(batch) > 1 else {})
        with contextlib.suppress(Exception):  # the process is late or has failed
            return future.result(_PATIENCE).get(request)

    def has_turn(self) -> bool:
        """Return whether it is the calling thread's turn."""
        return getattr(self._thread, "turn", False)

    def _wait(self, request: Request | None) -> None:
        served, ahead = threading.Event(), 0
        with self._lock:
            self.line[served] = request
            if self._busy:
                self._compute_ahead()
            else:
                self._pass_on()
        try:
            while not served.wait(_PATIENCE * (1 + ahead / 20)):  # three hundred notices per second are work too
                ahead = [*self.line, served].index(served) + 1
                self._thread.tell(ahead)
            if ahead:
                self._thread.tell(0)
        except BaseException:
            with self._lock:
                if served in self.line:
                    del self.line[served]
                else:  # the turn has come meanwhile
                    self._pass_on()
            raise
        self._thread.turn = True

    def _pass_on(self) -> None:
        self._thread.turn = False
        with self._lock:
            self._busy = bool(self.line)
            if self.line:
                self.line.popitem(last=False)[0].set()
                self._compute_ahead()

    def _batch(self, *first: Request) -> list[Request]:
        """Return the first request without a result and others of its kind; needs the lock, as all methods below."""
        waiting = filter(None, list(self.line.values())[: 2 * BATCH])
        new = [request for request in dict.fromkeys([*first, *waiting]) if request not in self._results]
        return [each for each in new if (each.compute, each.model) == (new[0].compute, new[0].model)][:BATCH]

    def _compute_ahead(self) -> None:
        """Have the process compute the next batch; start it if many wait, a core is free and there is no GPU."""
        batch, process = self._batch(), self._process
        if self._is_computing or not batch:
            return
        if not process:
            is_useful = os.environ.get(SWITCH) != "0" and usable_cores() > 1 and choose_device().type == "cpu"
            if len(batch) < CROWD or not self._starts or not is_useful:
                return
            self._starts, batch = self._starts - 1, []  # the first task only waits until the process can take others
        self._is_computing = True
        try:
            process = process or ProcessPoolExecutor(1, get_context("spawn"), initializer=_end_with_server)
            future = process.submit(_compute, batch)
        except Exception as error:  # no memory or threads left, or the process has ended
            future = Future()
            future.set_exception(error)
        self._results.update(dict.fromkeys(batch, future))

        def go_on(future: Future) -> None:
            if error := future.exception():
                logger.warning("the process of the model failed", exc_info=error)
            with self._lock:
                self._is_computing, self._process = False, None if error else process
                self._compute_ahead()

        future.add_done_callback(go_on)


def _compute(batch: Sequence[Request]) -> dict[Request, Any]:
    """Return the results of a batch up to the first failure."""
    results: dict[Request, Any] = {}
    if not batch:
        return results
    first, items = batch[0], [each.item for each in batch]
    with contextlib.suppress(Exception):  # the visitor who asked for it meets it alone
        for request, result in zip(batch, first.compute(first.model, items), strict=True):
            results[request] = result
    return results


def _end_with_server() -> None:
    """Let this process end with the server, even if the server is killed; Ctrl+C is for the server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if server := parent_process():
        threading.Thread(target=lambda: [connection.wait([server.sentinel]), os._exit(1)], daemon=True).start()


queue = ModelQueue()
TEMPLATES = Templates.beside(__file__)


@contextlib.contextmanager
def in_turn(notice: DeltaGenerator, request: Request | None) -> Iterator[None]:
    """Run the block in this visitor's turn; show the position in the line in `notice` if the waiting takes long."""

    def tell(ahead: int) -> None:
        text = TEMPLATES.text("one_ahead" if ahead == 1 else "ahead", visitors=ahead)
        notice.info(text, icon=":material/hourglass_top:") if ahead else notice.empty()

    with queue.turn(request, tell):
        yield


def fragment(function: Callable[..., None], run_every: float | None = None) -> Callable[..., None]:
    """Return the function as an `st.fragment` whose reruns take turns with all other runs."""
    return st.fragment(queue.turn()(function), run_every=run_every)


def part_by_part(parts: Sequence[Any], compute: Callable[[Any], Result], words: str) -> list[Result]:
    """Return the result of a cached function for each part, with a progress bar; others may go first between parts."""
    bar, results = st.empty(), []
    for number, part in enumerate(parts):
        if len(parts) > 3:  # fewer are done before the bar is read
            bar.progress(number / len(parts), words)
        queue.let_others_go_first()
        results.append(compute(part))
    bar.empty()
    return results
