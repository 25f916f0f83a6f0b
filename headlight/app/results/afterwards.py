"""What takes long is done after everyone's translation: at once where nobody waits, and else by a thread that lets all
others go first, before each of its parts, for as long as somebody asks for it.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

from transformer import UserError

from .turn_taking import Turns

logger = logging.getLogger(__name__)

KEPT = 256  # requests that are known to be done: no more than the caches hold
WANTED = 6.0  # seconds for which a task is wanted that nobody asks for again
_THREAD = "afterwards"
# Streamlit warns of each cached function that would show a spinner where there is no page.
logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").addFilter(
    lambda record: record.threadName != _THREAD
)

Task = Callable[[], Iterator[None]]  # a generator function: others may go first wherever it yields


@dataclass
class _Wanted:
    visitor: Hashable
    request: Hashable
    task: Task
    until: float  # time.monotonic()


class Afterwards:
    """Tasks that fill caches, one at a time and for each visitor one; who asks learns whether the task is done."""

    def __init__(self, turns: Turns):
        self._turns = turns
        self._lock = threading.Lock()
        self._waiting: OrderedDict[Hashable, _Wanted] = OrderedDict()  # by visitor, in the order in which they came
        self._done: OrderedDict[Hashable, None] = OrderedDict()
        self._works = False

    def is_done(
        self, visitor: Hashable, request: Hashable, task: Task, at_once: bool = True, seconds: float = WANTED
    ) -> bool:
        """Whether a task has been done, now or before; else it waits to be done, in place of the visitor's last one.

        request: tells the task from others; at_once: the caller has a turn, and does it now where nobody waits;
        seconds: for how long it is wanted, unless it is asked for again. A task that failed in the thread counts as
        done: whoever needs its result meets the failure there.
        """
        with self._lock:
            if request in self._done:
                self._done.move_to_end(request)
                self._waiting.pop(visitor, None)
                return True
            self._forget()
            waits = bool(self._waiting)
        if at_once and not waits and not self._turns.crowded():
            for _ in task():
                self._turns.let_others_go_first()
            self._note(request)
            return True
        with self._lock:
            self._want(_Wanted(visitor, request, task, time.monotonic() + seconds))
            starts, self._works = not self._works, True
        if starts:
            self._start()
        return False

    def ahead(self, visitor: Hashable) -> int:
        """How many tasks come before this visitor's."""
        with self._lock:
            self._forget()
            return list(self._waiting).index(visitor) if visitor in self._waiting else 0

    def _want(self, wanted: _Wanted) -> None:
        before = self._waiting.get(wanted.visitor)
        if before is None or before.request != wanted.request:
            self._waiting.pop(wanted.visitor, None)  # a new wish waits behind those of others
            self._waiting[wanted.visitor] = wanted
        else:
            before.until = wanted.until

    def _forget(self) -> None:
        """Leave out what nobody wants any more, such as the tasks of visitors who have left."""
        now = time.monotonic()
        for visitor in [visitor for visitor, wanted in self._waiting.items() if wanted.until < now]:
            del self._waiting[visitor]

    def _start(self) -> None:
        try:
            threading.Thread(target=self._work, name=_THREAD, daemon=True).start()
        except RuntimeError:  # no more threads: whoever asks next tries again
            self._works = False

    def _work(self) -> None:
        try:
            while wanted := self._next():
                self._do(wanted)
        except BaseException:
            self._works = False
            raise

    def _do(self, wanted: _Wanted) -> None:
        try:
            parts = wanted.task()
            while self._goes_on(wanted, parts):
                pass
        except UserError:
            self._note(wanted.request)
        except Exception:
            logger.warning("a task failed", exc_info=True)
            self._note(wanted.request)
        with self._lock:
            if self._waiting.get(wanted.visitor) is wanted:
                del self._waiting[wanted.visitor]

    def _goes_on(self, wanted: _Wanted, parts: Iterator[None]) -> bool:
        """Do the next part of a task; False if it was the last, or the task is not wanted any more."""
        with self._turns.after_all_others():
            with self._lock:
                if not self._is_wanted(wanted):
                    return False
            try:
                next(parts)
            except StopIteration:
                self._note(wanted.request)
                return False
            return True

    def _is_wanted(self, wanted: _Wanted) -> bool:
        self._forget()
        return self._waiting.get(wanted.visitor) is wanted

    def _next(self) -> _Wanted | None:
        """The first task; None, and the thread is to end, where there is none."""
        with self._lock:
            self._forget()
            for wanted in self._waiting.values():
                return wanted
            self._works = False
            return None

    def _note(self, request: Hashable) -> None:
        with self._lock:
            self._done[request] = None
            while len(self._done) > KEPT:
                self._done.popitem(last=False)
