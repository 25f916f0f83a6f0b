"""kill -9 of the server in the middle of answering: every acknowledged answer survives."""

from support.classes import crowd
from support.server import free_port, start, until, wait_for

from headlight.classroom import FILE_VARIABLE, Question, open_class
from headlight.classroom.admission import hash_participant
from headlight.classroom.sqlite_store import SqliteStore

ENOUGH = 40  # answers before and after


def test_a_killed_server_that_starts_again_has_every_acknowledged_answer(tmp_path):
    path, port = tmp_path / "classes.sqlite3", free_port()
    store = SqliteStore(path)
    teacher = open_class(store)
    teacher.ask(Question("Same?", ("yes", "no")))
    store.close()  # the server is the only one with the file open
    address, environment = f"http://localhost:{port}", {FILE_VARIABLE: str(path)}
    server = start(port, **environment)
    try:
        wait_for(f"{address}/_stcore/health", server)
        with crowd(address, teacher.code) as phones:
            until(lambda: len(phones.acknowledged) >= ENOUGH)
            server.kill()
            server.wait()
            server, before = start(port, **environment), len(phones.acknowledged)
            until(lambda: len(phones.acknowledged) >= before + ENOUGH)
    finally:
        server.kill()
        server.wait()
    store = SqliteStore(path)
    classroom, stored = store.read(teacher.code), [answer.participant for answer in store.answers(teacher.code, 1)]
    assert {hash_participant(classroom, number) for number in phones.acknowledged} <= set(stored)
    assert len(stored) == len(set(stored)) <= len(phones.acknowledged) + phones.failed and phones.failed
    assert classroom.current.closed is None, "the class goes on"
