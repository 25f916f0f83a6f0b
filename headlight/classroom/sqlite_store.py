"""Store of classes in one SQLite file, which several servers of one machine may share."""

import contextlib
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from .store import (
    AWAY,
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
    entry,
    from_document,
    judge,
)

_VERSION = 2  # of the tables: a file of another version has classes of another day
_TABLES = """
CREATE TABLE class (code TEXT PRIMARY KEY, ends REAL NOT NULL, document TEXT NOT NULL);
CREATE TABLE participant (
  code TEXT NOT NULL REFERENCES class ON DELETE CASCADE, participant TEXT NOT NULL, seen REAL NOT NULL,
  PRIMARY KEY (code, participant)
) WITHOUT ROWID;
CREATE TABLE answer (
  code TEXT NOT NULL REFERENCES class ON DELETE CASCADE, round INTEGER NOT NULL, participant TEXT NOT NULL,
  choice TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (code, round, participant)
) WITHOUT ROWID;
"""
_MAKE_ROOM = """
DELETE FROM class WHERE code = (
  SELECT code FROM class WHERE code NOT IN (SELECT code FROM participant WHERE seen >= ?) ORDER BY ends LIMIT 1
)"""
_PATIENCE = 10.0  # seconds that a write waits for one of another process


class SqliteStore:
    """Store of classes in a file.

    Each call is atomic, for threads and processes. A write that has returned survives the end of the server and a loss
    of power, except for `admit` and `note_seen`. All methods raise StoreError if the file cannot be used. A class past
    its `ends` does not exist any more. `now` returns the time, in seconds since 1970.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time):
        self._path, self.now = path, clock
        self._reading, self._writing = threading.Lock(), threading.Lock()
        self._open()

    def _open(self) -> None:
        with _reachable():
            self._check_folder()
            self._reader, self._writer = self._connect(), self._connect()
            self._file = self._path.stat().st_ino
            with self._write() as writer:
                (version,) = writer.execute("PRAGMA user_version").fetchone()
                if version != _VERSION:
                    for table in ("answer", "participant", "class"):
                        writer.execute(f"DROP TABLE IF EXISTS {table}")
                    for statement in _TABLES.split(";\n"):
                        writer.execute(statement)
                    writer.execute(f"PRAGMA user_version = {_VERSION}")

    def _check_folder(self) -> None:
        """Make the file's folder if it is missing; in a folder that all may write to, it has to be this user's."""
        folder = self._path.parent
        folder.mkdir(mode=0o700, exist_ok=True)
        is_anybodys = folder.parent.stat().st_mode & stat.S_IWOTH
        if is_anybodys and hasattr(os, "getuid") and folder.lstat().st_uid != os.getuid():
            raise PermissionError(f"{folder} is somebody else's")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        for setting in ("journal_mode = WAL", "foreign_keys = ON", "secure_delete = ON"):
            connection.execute(f"PRAGMA {setting}")
        return connection

    @contextlib.contextmanager
    def _write(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """Exclude all other writers from the block; after it a durable change is on the disk."""
        with self._writing, _reachable():
            # NORMAL too survives the end of this process; only FULL waits for the disk.
            self._writer.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            finally:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")

    def _read(self, query: str, *values: object) -> list[tuple]:
        with self._reading, _reachable():
            return self._reader.execute(query, values).fetchall()

    def create(self, classroom: Classroom) -> None:
        """Store a new class. Raises CodeTakenError, and NoRoomError if there are `MOST_CLASSES` already.

        Of so many, one in which nobody was seen for `AWAY` seconds makes room, the one longest without an act.
        """
        if not self._path.exists() or self._path.stat().st_ino != self._file:  # the system tidied its temporary files
            self.close()
            self._open()
        self.purge()
        with self._write() as writer:
            (count,) = writer.execute("SELECT count(*) FROM class").fetchone()
            if writer.execute("SELECT 1 FROM class WHERE code = ?", (classroom.code,)).fetchone():
                raise CodeTakenError(classroom.code)
            if count >= MOST_CLASSES and not writer.execute(_MAKE_ROOM, (self.now() - AWAY,)).rowcount:
                raise NoRoomError("This server has as many classes as it can keep: please try again later.")
            _put(writer, classroom)

    def read(self, code: str) -> Classroom | None:
        """Return a class, None if there is none of this code."""
        rows = self._read("SELECT document FROM class WHERE code = ? AND ends > ?", code, self.now())
        return from_document(rows[0][0]) if rows else None

    def change(self, code: str, change: Callable[[Classroom], Classroom]) -> Classroom:
        """Replace a class by the result of `change` and return it; the same object changes nothing.

        An ENDED class loses its answers and participants. An exception in `change` leaves the class as it was. Raises
        NoClassError.
        """
        with self._write() as writer:
            before = self._class(writer, code)
            if before is None:
                raise NoClassError(f"There is no class {code}.")
            after = change(before)
            if after is not before:
                _put(writer, after)
            if after.phase == Phase.ENDED:
                writer.execute("DELETE FROM participant WHERE code = ?", (code,))
                writer.execute("DELETE FROM answer WHERE code = ?", (code,))
        if after.phase == Phase.ENDED:
            self._empty_log()
        return after

    def is_in(self, code: str, participant: str) -> bool:
        """Return whether a participant has been admitted."""
        with self._reading, _reachable():
            return self._is_in(self._reader, code, participant)

    def expel(self, code: str, participants: Sequence[str] | None, number: int | None) -> None:
        """Delete participants, all of them for None, and their answers in a round, if there is a `number`."""
        with self._write() as writer:
            whom, values = ("", [()]) if participants is None else ("AND participant = ?", [(p,) for p in participants])
            for value in values:
                writer.execute(f"DELETE FROM participant WHERE code = ? {whom}", (code, *value))
                writer.execute(f"DELETE FROM answer WHERE code = ? AND round = ? {whom}", (code, number, *value))

    def admit(self, code: str, participant: str) -> Outcome:
        """Admit a participant: KEPT, also for one who is in already; LOCKED, FULL, or NO_CLASS."""
        with self._write(durable=False) as writer:
            if self._is_in(writer, code, participant):
                return Outcome.KEPT
            outcome = entry(self._class(writer, code), self._count(writer, code))
            if outcome == Outcome.KEPT:
                writer.execute("INSERT INTO participant VALUES (?, ?, ?)", (code, participant, self.now()))
            return outcome

    def answer(self, code: str, answer: Answer) -> Outcome:
        """Store an answer in place of the participant's last one of the round, if the round is open.

        A new participant is admitted. The same choice again is KEPT, and its time stays.
        """
        with self._write() as writer:
            last = self._answers(writer, code, answer.round, "AND participant = ?", answer.participant)
            is_in = self._is_in(writer, code, answer.participant)
            others = 0 if is_in else self._count(writer, code)
            classroom = self._class(writer, code)
            outcome = judge(classroom, answer, next(iter(last), None), is_in=is_in, others=others)
            if outcome == Outcome.KEPT and not is_in:
                writer.execute("INSERT INTO participant VALUES (?, ?, ?)", (code, answer.participant, answer.at))
            if outcome == Outcome.KEPT and not (last and last[0].choice == answer.choice):
                values = (code, answer.round, answer.participant, answer.choice, answer.at)
                writer.execute("INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?)", values)
            return outcome

    def answer_of(self, code: str, number: int, participant: str) -> str | None:
        """Return a participant's choice in a round, None without one."""
        query = "SELECT choice FROM answer WHERE code = ? AND round = ? AND participant = ?"
        rows = self._read(query, code, number, participant)
        return rows[0][0] if rows else None

    def answers(self, code: str, number: int) -> list[Answer]:
        """Return a round's answers, by participant."""
        with self._reading, _reachable():
            return self._answers(self._reader, code, number)

    def note_seen(self, code: str, participants: Mapping[str, float]) -> None:
        """Note the times at which participants were last seen."""
        with self._write(durable=False) as writer:
            rows = [(seen, code, participant) for participant, seen in participants.items()]
            writer.executemany("UPDATE participant SET seen = max(seen, ?) WHERE code = ? AND participant = ?", rows)

    def seen_since(self, code: str, moment: float) -> list[str]:
        """Return the participants who were seen at that moment or later."""
        return [
            row[0]
            for row in self._read("SELECT participant FROM participant WHERE code = ? AND seen >= ?", code, moment)
        ]

    def has_classes(self) -> bool:
        """Return whether a class goes on."""
        query = "SELECT 1 FROM class WHERE ends > ? AND json_extract(document, '$.phase') != ? LIMIT 1"
        return bool(self._read(query, self.now(), str(Phase.ENDED)))

    def purge(self) -> None:
        """Delete classes past their time, from the file as from its log."""
        if not self._read("SELECT 1 FROM class WHERE ends <= ? LIMIT 1", self.now()):
            return
        with self._write() as writer:
            writer.execute("DELETE FROM class WHERE ends <= ?", (self.now(),))
        self._empty_log()

    def close(self) -> None:
        """Close the file."""
        with self._writing, self._reading:
            self._writer.close()
            self._reader.close()

    def _empty_log(self) -> None:
        """Remove deleted rows from the write-ahead log too; where another process reads, the next call does."""
        with self._writing, _reachable():
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _class(self, writer: sqlite3.Connection, code: str) -> Classroom | None:
        query = "SELECT document FROM class WHERE code = ? AND ends > ?"
        row = writer.execute(query, (code, self.now())).fetchone()
        return from_document(row[0]) if row else None

    @staticmethod
    def _is_in(connection: sqlite3.Connection, code: str, participant: str) -> bool:
        query = "SELECT 1 FROM participant WHERE code = ? AND participant = ?"
        return connection.execute(query, (code, participant)).fetchone() is not None

    def _count(self, writer: sqlite3.Connection, code: str) -> int:
        """Return the number of participants; those who are away make room where there would be none."""
        query = "SELECT count(*) FROM participant WHERE code = ?"
        if writer.execute(query, (code,)).fetchone()[0] >= MOST_PARTICIPANTS:
            writer.execute("DELETE FROM participant WHERE code = ? AND seen < ?", (code, self.now() - AWAY))
        return int(writer.execute(query, (code,)).fetchone()[0])

    @staticmethod
    def _answers(connection: sqlite3.Connection, code: str, number: int, more: str = "", *values: str) -> list[Answer]:
        query = f"SELECT round, participant, choice, at FROM answer WHERE code = ? AND round = ? {more}"
        rows = connection.execute(f"{query} ORDER BY participant", (code, number, *values))
        return [Answer(round=row[0], participant=row[1], choice=row[2], at=row[3]) for row in rows]


def _put(writer: sqlite3.Connection, classroom: Classroom) -> None:
    values = (classroom.code, classroom.ends, classroom.document())
    update = "ON CONFLICT (code) DO UPDATE SET ends = excluded.ends, document = excluded.document"
    writer.execute(f"INSERT INTO class VALUES (?, ?, ?) {update}", values)


@contextlib.contextmanager
def _reachable() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"The file of the classes cannot be used: {error}.") from error
