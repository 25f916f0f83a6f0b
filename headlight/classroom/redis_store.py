"""Classes in Redis, which servers of several machines may share.

Redis acknowledges only what is on its disk where it runs with `appendonly yes` and `appendfsync always`.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from .store import (
    BETWEEN_ANSWERS,
    MOST_CLASSES,
    MOST_PARTICIPANTS,
    Answer,
    Classroom,
    CodeTakenError,
    NoClassError,
    NoRoomError,
    Outcome,
    Phase,
    StoreError,
    from_document,
)

logger = logging.getLogger(__name__)

_PREFIX = "headlight:class:"
_INDEX = "headlight:classes"  # codes by the end of their class
_PATIENCE = 3.0  # seconds
_LOG_PATIENCE, _LOG_PAUSE = 120.0, 0.1  # seconds for which the writing of Redis's file is waited for, and between looks
_TRIES = 50  # of a change while others change the same class

# The rules of `store.entry` and `store.judge`, where nobody comes between. KEYS: class, who is in, the round's answers.
# ARGV: participant, now, round, choice.
_ENTRY = f"""
local class = redis.call('HMGET', KEYS[1], 'phase', 'round', 'locked', 'ends')
local now = tonumber(ARGV[2])
local gone = not class[1] or tonumber(class[4]) <= now
local function keep(key) redis.call('PEXPIREAT', key, string.format('%.0f', class[4] * 1000)) end
local function entry()
  if redis.call('ZSCORE', KEYS[2], ARGV[1]) then return '{Outcome.KEPT}' end
  if gone or class[1] == '{Phase.ENDED}' then return '{Outcome.NO_CLASS}' end
  if class[3] == '1' then return '{Outcome.LOCKED}' end
  if redis.call('ZCARD', KEYS[2]) >= {MOST_PARTICIPANTS} then return '{Outcome.FULL}' end
  redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
  keep(KEYS[2])
  return '{Outcome.KEPT}'
end
"""
_ADMIT = f"{_ENTRY} return entry()"
_ANSWER = f"""{_ENTRY}
if gone then return '{Outcome.NO_CLASS}' end
if class[1] ~= '{Phase.ASKING}' or class[2] ~= ARGV[3] then return '{Outcome.CLOSED}' end
local outcome = entry()
if outcome ~= '{Outcome.KEPT}' then return outcome end
local last = redis.call('HGET', KEYS[3], ARGV[1])
if last then
  local at, choice = string.match(last, '^(%S+) (.*)$')
  if choice == ARGV[4] then return outcome end
  if now - tonumber(at) < {BETWEEN_ANSWERS} then return '{Outcome.TOO_SOON}' end
end
redis.call('HSET', KEYS[3], ARGV[1], ARGV[2] .. ' ' .. ARGV[4])
keep(KEYS[3])
return outcome
"""
# KEYS: class, index. ARGV: code, now, ends, and the fields of the class.
_CREATE = f"""
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[2])
if redis.call('EXISTS', KEYS[1]) == 1 then return 'taken' end
if redis.call('ZCARD', KEYS[2]) >= {MOST_CLASSES} then return 'no room' end
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
redis.call('HSET', KEYS[1], unpack(ARGV, 4))
redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', ARGV[3] * 1000))
return 'kept'
"""


class RedisStore:
    """A `Store` in the Redis at an address such as "redis://localhost:6379/0", which forgets by itself."""

    def __init__(self, url: str, clock: Callable[[], float] = time.time):
        self.now = clock
        self._client = redis.Redis.from_url(
            url,
            decode_responses=True,
            socket_timeout=_PATIENCE,
            socket_connect_timeout=_PATIENCE,
            retry=Retry(NoBackoff(), 1),  # all that is asked may be asked twice
        )
        self._admit, self._answer, self._create = map(self._client.register_script, (_ADMIT, _ANSWER, _CREATE))
        self._checked = False
        self._closing = threading.Event()
        self._later: threading.Thread | None = None  # has Redis write its file anew

    def create(self, classroom: Classroom) -> None:
        """Keep a new class."""
        key = _PREFIX + classroom.code
        with _reachable():
            self._check_durability()
            values = [classroom.code, repr(self.now()), repr(classroom.ends), *_fields(classroom)]
            kept = self._create(keys=[key, _INDEX], args=values)
        if kept == "taken":
            raise CodeTakenError(classroom.code)
        if kept == "no room":
            raise NoRoomError("This server has as many classes as it can keep: please try again later.")

    def _check_durability(self) -> None:
        """Say once in the log where an acknowledged answer could be lost with Redis."""
        if self._checked:
            return
        self._checked = True
        with contextlib.suppress(redis.ResponseError):  # not everybody may ask
            settings: dict[str, str] = self._client.config_get("append*")  # type: ignore[assignment]
            if (settings.get("appendonly"), settings.get("appendfsync")) != ("yes", "always"):
                logger.warning(
                    "Answers may be lost if Redis is killed: start it with --appendonly yes --appendfsync always."
                )

    def read(self, code: str) -> Classroom | None:
        """Return a class."""
        with _reachable():
            return self._present(self._client.hget(_PREFIX + code, "document"))

    def _present(self, document: Any) -> Classroom | None:
        classroom = from_document(document) if document else None
        return classroom if classroom and classroom.ends > self.now() else None

    def change(self, code: str, change: Callable[[Classroom], Classroom]) -> Classroom:
        """Put what a function makes of a class in its place."""
        key = _PREFIX + code
        with _reachable(), self._client.pipeline() as pipeline:
            for _ in range(_TRIES):
                pipeline.watch(key)
                before = self._present(pipeline.hget(key, "document"))
                if before is None:
                    raise NoClassError(f"There is no class {code}.")
                after = change(before)
                if after is before:
                    return before
                pipeline.multi()
                pipeline.hset(key, items=_fields(after))
                pipeline.pexpireat(key, int(after.ends * 1000))
                pipeline.zadd(_INDEX, {code: after.ends})
                if after.phase == Phase.ENDED:
                    pipeline.delete(f"{key}:in", *(f"{key}:answers:{each.number}" for each in before.rounds))
                try:
                    pipeline.execute()
                except redis.WatchError:
                    continue
                if after.phase == Phase.ENDED:
                    self._empty_log()
                return after
        raise StoreError("Too many change the class at once: please try again.")

    def admit(self, code: str, participant: str) -> Outcome:
        """Let a participant in."""
        key = _PREFIX + code
        with _reachable():
            return Outcome(self._admit(keys=[key, f"{key}:in"], args=[participant, repr(self.now())]))

    def answer(self, code: str, answer: Answer) -> Outcome:
        """Keep an answer."""
        key = _PREFIX + code
        keys = [key, f"{key}:in", f"{key}:answers:{answer.round}"]
        with _reachable():
            values = [answer.participant, repr(answer.at), str(answer.round), answer.choice]
            return Outcome(self._answer(keys=keys, args=values))

    def answer_of(self, code: str, number: int, participant: str) -> str | None:
        """Return a participant's choice in a round."""
        with _reachable():
            kept: Any = self._client.hget(f"{_PREFIX}{code}:answers:{number}", participant)
        return kept.partition(" ")[2] if kept is not None else None

    def answers(self, code: str, number: int) -> list[Answer]:
        """Return a round's answers."""
        with _reachable():
            kept: Any = self._client.hgetall(f"{_PREFIX}{code}:answers:{number}")
        parts = [(participant, *text.split(" ", 1)) for participant, text in sorted(kept.items())]
        return [Answer(round=number, participant=each, choice=choice, at=float(at)) for each, at, choice in parts]

    def note_seen(self, code: str, participants: Mapping[str, float]) -> None:
        """Note when participants were last seen."""
        with _reachable():
            self._client.zadd(f"{_PREFIX}{code}:in", dict(participants), xx=True, gt=True)

    def seen_since(self, code: str, moment: float) -> int:
        """Return how many participants were seen since."""
        with _reachable():
            count: Any = self._client.zcount(f"{_PREFIX}{code}:in", moment, "+inf")
        return int(count)

    def purge(self) -> None:
        """Take classes past their time out of Redis's file too; Redis itself has forgotten them."""
        with _reachable():
            if self._client.zremrangebyscore(_INDEX, "-inf", self.now()):
                self._empty_log()

    def close(self) -> None:
        """Close all connections, when none is in use any more."""
        self._closing.set()
        if self._later:
            self._later.join()
        self._client.close()

    def _empty_log(self) -> None:
        """Have Redis write its file anew, without what was deleted; where it is at it already, once it has ended.

        What it began before may still have what was deleted since.
        """
        if not self._begins_log():
            self._later = threading.Thread(target=self._empty_log_later, daemon=True)
            self._later.start()

    def _empty_log_later(self) -> None:
        until = time.monotonic() + _LOG_PATIENCE
        # The server may end while this waits: its next start purges.
        with contextlib.suppress(redis.RedisError):
            while not self._closing.wait(_LOG_PAUSE) and time.monotonic() < until and not self._begins_log():
                pass

    def _begins_log(self) -> bool:
        """Return False where Redis cannot begin yet; True where it began, or never will."""
        try:
            self._client.bgrewriteaof()
        except redis.ResponseError as error:
            return "in progress" not in str(error)
        return True


def _fields(classroom: Classroom) -> list[str]:
    """Return what is kept of a class, and apart from it what the scripts ask for: names, each with its value."""
    asked = {"phase": classroom.phase, "round": len(classroom.rounds), "locked": int(classroom.locked)}
    fields = {"document": classroom.document(), "ends": repr(classroom.ends), **asked}
    return [str(part) for field in fields.items() for part in field]


@contextlib.contextmanager
def _reachable() -> Iterator[None]:
    try:
        yield
    except redis.WatchError:
        raise
    except redis.RedisError as error:
        raise StoreError(f"Redis cannot be used: {error}.") from error
