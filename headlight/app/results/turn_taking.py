"""Whose turn it is: one visitor's run at a time, the others in the order in which they came.

Python runs one thread at once, and each of a decoding's thousand small operations gives the interpreter away and waits
to have it back. With thirty runs under way each waits for all others at every operation, and the server does less than
with one. In a line it does as much for three hundred visitors as for three; nobody is served twice before another once.
"""

import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

_CROWD = 2.0  # seconds for which there is a crowd after someone had to wait
_PATIENCE = 5.0  # seconds for which someone lets all others go first
_LOOK = 1.0  # seconds before someone who waits hears how many are ahead, and at least between that and the next word
_LATER = 0.05  # seconds more for each who is ahead: three hundred words a second would keep all from being served


@dataclass(frozen=True)
class Wish:
    """What a visitor in the line will ask for: a translation, and perhaps what the decoder makes of early layers."""

    choice: Hashable
    early_layers: bool = False


class _Place:
    """A place in the line, and what its owner will ask for when served."""

    def __init__(self, wish: Wish | None):
        self.wish, self.served = wish, threading.Event()


class Turns:
    """At most `most` threads at a time, first come, first served. A thread that has a turn may ask for it again.

    `look` is called whenever the line has become longer.
    """

    def __init__(self, most: int = 1, look: Callable[[], None] = lambda: None):
        self._look = look
        self._lock = threading.Lock()
        self._free = most
        self._line: deque[_Place] = deque()
        self._last: deque[_Place] = deque()  # those who let everybody else go first
        self._last_served = 0  # of them, whose turn it is
        self._waited = -math.inf  # when someone last had to wait for another visitor
        self._own = threading.local()
        self._beside = threading.Lock()

    @contextlib.contextmanager
    def turn(self, wish: Wish | None = None, tell: Callable[[int], None] = lambda ahead: None) -> Iterator[None]:
        """Within the block it is the caller's turn.

        wish: what it will ask for, for `wishes`. While others are ahead, `tell` hears now and then how many; what it
        raises ends the waiting: a visitor who has left need not be served.
        """
        if self._has():
            yield
            return
        self._wait(wish, tell)
        try:
            yield
        finally:
            self._pass_on()

    @contextlib.contextmanager
    def after_all_others(self) -> Iterator[None]:
        """A turn that is given when nobody waits in the line, those who come later included.

        After some seconds of that it is the line's end, so that a server with too many visitors does this too, if
        slowly. Never for who has a turn, who would wait for himself.
        """
        self._wait(None, lambda ahead: None, self._last)
        with self._lock:
            self._last_served += 1
        try:
            yield
        finally:
            with self._lock:
                self._last_served -= 1
            self._pass_on()

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Within the block the others go on: for what takes seconds, one such block at a time.

        After it, the caller waits for a turn anew. Never inside a cached function: someone else, whose turn it is, may
        wait for its result.
        """
        if not self._has():
            yield
            return
        self._pass_on()
        try:
            with self._beside:
                yield
        finally:
            self._wait(None, lambda ahead: None)

    def let_others_go_first(self) -> None:
        """To be called between the parts of something long: those in the line have their turns, then it goes on."""
        with self._lock:
            alone = not self._line
        if not alone and self._has():
            self._pass_on()
            self._wait(None, lambda ahead: None)

    def crowded(self) -> bool:
        """Whether someone waits in the line for another visitor, or did a moment ago."""
        with self._lock:
            return bool(self._line) or time.monotonic() - self._waited < _CROWD

    def wishes(self) -> list[Wish]:
        """What those in the line will ask for, first come first, without those who did not say."""
        with self._lock:
            return [place.wish for place in self._line if place.wish is not None]

    def _has(self) -> bool:
        return getattr(self._own, "turn", False)

    def _wait(self, wish: Wish | None, tell: Callable[[int], None], line: deque[_Place] | None = None) -> None:
        line = self._line if line is None else line
        with self._lock:
            if self._free:
                self._free -= 1
                self._own.turn = True
                return
            place = _Place(wish)
            line.append(place)
            for_another = line is self._line and not self._last_served
            self._waited = time.monotonic() if for_another else self._waited
        try:
            self._look()
            pause, since = _LOOK, time.monotonic()
            while not place.served.wait(pause):
                if line is self._last and time.monotonic() - since > _PATIENCE:
                    line = self._to_the_end_of_the_line(place)
                ahead = self._ahead(place)
                tell(ahead)
                pause = max(_LOOK, ahead * _LATER)
        except BaseException:
            with self._lock:
                waiting = place in line
                if waiting:
                    line.remove(place)
            if not waiting:  # the turn came meanwhile
                self._pass_on()
            raise
        self._own.turn = True
        if for_another:
            self._waited = time.monotonic()

    def _to_the_end_of_the_line(self, place: _Place) -> deque[_Place]:
        with self._lock:
            if place in self._last:
                self._last.remove(place)
                self._line.append(place)
        return self._line

    def _ahead(self, place: _Place) -> int:
        with self._lock:
            return self._line.index(place) + 1 if place in self._line else 0

    def _pass_on(self) -> None:
        self._own.turn = False
        with self._lock:
            line = self._line or self._last
            if line:
                line.popleft().served.set()
            else:
                self._free += 1
