"""Admission to classes: presence of participants, and limits per address."""

import contextlib
import hashlib
import ipaddress
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from .store import AWAY, Classroom, Outcome

if TYPE_CHECKING:
    from .sqlite_store import SqliteStore

ARRIVALS, ARRIVAL_SECONDS = 200, 60.0  # newcomers to one class from one address
# Seconds within which a newcomer has to ask a second time. A phone does; a number invented for one request is not in.
ASK_AGAIN, ASK_UNTIL = 0.8, 30.0
_WAITING = 20_000  # newcomers remembered until then
FLUSH = 1.0  # seconds between two notes of presence in the store
_KEYS = 10_000  # remembered by a limit


class RateLimit:
    """Limit of events per key within a sliding period."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic):
        self._most, self._seconds, self._clock = most, seconds, clock
        self._times: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def is_exceeded(self, key: str) -> bool:
        """Count another event of a key; return True, and do not count it, if it is one too many."""
        with self._lock:
            now, times = self._clock(), self._times.pop(key, deque(maxlen=self._most))
            self._times[key] = times  # as the last one
            if len(self._times) > _KEYS:
                del self._times[next(iter(self._times))]
            if len(times) == self._most and now - times[0] < self._seconds:
                return True
            times.append(now)
            return False


class Presence:
    """Participants of each class and the time of their last request to this server; the store gets them in batches."""

    def __init__(self, store: "SqliteStore"):
        self._store, self._lock = store, threading.Lock()
        self._arrivals = RateLimit(ARRIVALS, ARRIVAL_SECONDS, store.now)
        self._seen: dict[tuple[str, str], dict[str, float]] = {}  # by code and salt
        self._flushed: dict[tuple[str, str], float] = {}
        self._asked_at: dict[str, float] = {}  # by newcomer, the latest last

    def enter(self, classroom: Classroom, participant: str, address: str) -> Outcome:
        """Admit a participant, or note the presence of one who is in already."""
        if participant in classroom.removed:
            return Outcome.REMOVED
        key, now = (classroom.code, classroom.salt), self._store.now()
        with self._lock:
            seen_at = self._seen.get(key, {}).get(participant, 0.0)
        if now - seen_at > AWAY / 2:  # the store may have forgotten them
            outcome = self._admit(classroom.code, participant, address)
            if outcome != Outcome.KEPT:
                return outcome
        with self._lock:
            if key not in self._seen:
                self._forget(classroom.code)
            last = self._flushed.setdefault(key, now)
            seen = self._seen.setdefault(key, {})
            seen[participant] = now
            recent = {each: when for each, when in seen.items() if when >= last} if now - last >= FLUSH else {}
            if recent:
                self._flushed[key] = now
                self._seen[key] = {each: when for each, when in seen.items() if now - when < AWAY}
        if recent:
            self._store.note_seen(classroom.code, recent)
        return Outcome.KEPT

    def _admit(self, code: str, participant: str, address: str) -> Outcome:
        if not self._store.is_in(code, participant):
            if not self._asks_again(participant):
                return Outcome.WAITING
            if self._arrivals.is_exceeded(f"{code} {address}"):
                return Outcome.CROWDED
        return self._store.admit(code, participant)

    def _asks_again(self, participant: str) -> bool:
        """Note a newcomer's request; return True for the second one, `ASK_AGAIN` to `ASK_UNTIL` after the first."""
        with self._lock:
            now = time.monotonic()
            first = self._asked_at.pop(participant, now)
            self._asked_at[participant] = first if now - first <= ASK_UNTIL else now
            if len(self._asked_at) > _WAITING:
                del self._asked_at[next(iter(self._asked_at))]
            return first != now and ASK_AGAIN <= now - first <= ASK_UNTIL

    def _forget(self, code: str) -> None:
        """Forget classes that are gone, and an earlier one of this code."""
        for key in list(self._seen):
            if key[0] == code or self._store.read(key[0]) is None:
                del self._seen[key], self._flushed[key]


def hash_participant(classroom: Classroom, number: str) -> str:
    """Return the hash of a participant's number, which differs from class to class."""
    return hashlib.sha256(f"{classroom.salt}{number}".encode()).hexdigest()[:24]


def network_of(host: str) -> str:
    """Return the key of an address for limits: the address, or of IPv6 the network of one household."""
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host.partition("%")[0])
        if address.version == 6 and address.ipv4_mapped is None:
            return str(ipaddress.ip_network((address, 64), strict=False))
    return host
