"""kill -9 of the server in the middle of answering: what was acknowledged is there afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager

from support.classes import Crowd, crowd
from support.server import free_port, start, until, wait_for

from headlight.classroom import FILE_VARIABLE, Question, Teacher, open_class
from headlight.classroom.admission import hash_participant
from headlight.classroom.sqlite_store import SqliteStore

ENOUGH = 40  # answers before and after


class Server:
    """The real app, which may be killed and started again."""

    def __init__(self, **environment: str):
        self._port, self._environment = free_port(), environment
        self.address = f"http://localhost:{self._port}"
        self.start()

    def start(self) -> None:
        """Start it, also again, and wait until it answers."""
        self.process = start(self._port, **self._environment)
        wait_for(f"{self.address}/_stcore/health", self.process)

    def kill(self) -> None:
        """At once."""
        self.process.kill()
        self.process.wait()


@contextmanager
def running(**environment: str) -> Iterator[Server]:
    server = Server(**environment)
    try:
        yield server
    finally:
        server.kill()


def asked(store: SqliteStore) -> Teacher:
    teacher = open_class(store)
    teacher.ask(Question("Same?", ("yes", "no")))
    return teacher


def more(phones: Crowd) -> None:
    """Wait until so many more are acknowledged."""
    before = len(phones.acknowledged)
    until(lambda: len(phones.acknowledged) >= before + ENOUGH)


def check(store: SqliteStore, teacher: Teacher, phones: Crowd) -> None:
    """All who were acknowledged are there, once; what came without an acknowledgement may be there too."""
    classroom = store.read(teacher.code)
    kept = [answer.participant for answer in store.answers(teacher.code, 1)]
    assert {hash_participant(classroom, number) for number in phones.acknowledged} <= set(kept)
    assert len(kept) == len(set(kept)) <= len(phones.acknowledged) + phones.failed
    assert teacher.look().classroom == classroom and classroom.current.closed is None, "the class goes on"


def test_a_killed_server_has_every_answer_that_it_acknowledged(tmp_path):
    path = tmp_path / "classes.sqlite3"
    store = SqliteStore(path)
    teacher = asked(store)
    with running(**{FILE_VARIABLE: str(path)}) as server, crowd(server.address, teacher.code) as phones:
        more(phones)
        server.kill()
        server.start()
        more(phones)
    check(store, teacher, phones)
    assert phones.failed


def test_a_file_that_only_a_killed_server_had_open_has_them_too(tmp_path):
    """Nobody else has the log at hand that SQLite writes first."""
    path = tmp_path / "classes.sqlite3"
    store = SqliteStore(path)
    teacher = asked(store)
    store.close()
    with running(**{FILE_VARIABLE: str(path)}) as server, crowd(server.address, teacher.code) as phones:
        more(phones)
        server.kill()
    store = SqliteStore(path)
    check(store, Teacher(store, teacher.code, teacher.secret), phones)
