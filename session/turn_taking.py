"""Whose turn it is: one visitor's run at a time, the others in the order in which they came.

Python runs one thread at once, and each of a decoding's thousand small operations gives the interpreter away and waits
to have it back. With thirty runs under way each waits for all others at every operation, and the server does less than
with one. In a line it does as much for three hundred visitors as for three; nobody is served twice before another once.
"""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator

_LOOK = 1.0  # seconds before someone who waits hears how many are ahead, and at least between that and the next word
_LATER = 0.05  # seconds more for each who is ahead: three hundred words a second would keep all from being served


class _Place:
    """A place in the line, and what its owner will ask for when served."""

    def __init__(self, wish: Hashable):
        self.wish, self.served = wish, threading.Event()


class Turns:
    """At most `most` threads at a time, first come, first served. A thread that has a turn may ask for it again."""

    def __init__(self, most: int = 1):
        self._lock = threading.Lock()
        self._free = most
        self._line: deque[_Place] = deque()
        self._own = threading.local()
        self._beside = threading.Lock()

    @contextlib.contextmanager
    def turn(self, wish: Hashable = None, tell: Callable[[int], None] = lambda ahead: None) -> Iterator[None]:
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

    def wishes(self) -> list[Hashable]:
        """What those in the line will ask for, first come first, without those who did not say."""
        with self._lock:
            return [place.wish for place in self._line if place.wish is not None]

    def _has(self) -> bool:
        return getattr(self._own, "turn", False)

    def _wait(self, wish: Hashable, tell: Callable[[int], None]) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                self._own.turn = True
                return
            place = _Place(wish)
            self._line.append(place)
        try:
            pause = _LOOK
            while not place.served.wait(pause):
                ahead = self._ahead(place)
                tell(ahead)
                pause = max(_LOOK, ahead * _LATER)
        except BaseException:
            with self._lock:
                waiting = place in self._line
                if waiting:
                    self._line.remove(place)
            if not waiting:  # the turn came meanwhile
                self._pass_on()
            raise
        self._own.turn = True

    def _ahead(self, place: _Place) -> int:
        with self._lock:
            return self._line.index(place) + 1 if place in self._line else 0

    def _pass_on(self) -> None:
        self._own.turn = False
        with self._lock:
            if self._line:
                self._line.popleft().served.set()
            else:
                self._free += 1
