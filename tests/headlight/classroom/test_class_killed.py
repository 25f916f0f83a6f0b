"""kill -9 of the server in the middle of answering: every acknowledged answer survives."""

import pytest
from support.classes import Crowd, crowd
from support.server import free_port, start, until, wait_for

from headlight.classroom import FILE_VARIABLE, Question, Teacher, open_class
from headlight.classroom.admission import hash_participant
from headlight.classroom.sqlite_store import SqliteStore

ENOUGH = 40  # answers before and after


def more(phones: Crowd) -> None:
    """Wait until so many more answers are acknowledged."""
    before = len(phones.acknowledged)
    until(lambda: len(phones.acknowledged) >= before + ENOUGH)


@pytest.mark.parametrize("alone", [False, True], ids=["and starts again", "and was the only one with the file open"])
def test_a_killed_server_has_every_acknowledged_answer(tmp_path, alone):
    path, port = tmp_path / "classes.sqlite3", free_port()
    store = SqliteStore(path)
    teacher = open_class(store)
    teacher.ask(Question("Same?", ("yes", "no")))
    if alone:
        store.close()
    address, environment = f"http://localhost:{port}", {FILE_VARIABLE: str(path)}
    server = start(port, **environment)
    try:
        wait_for(f"{address}/_stcore/health", server)
        with crowd(address, teacher.code) as phones:
            more(phones)
            server.kill()
            server.wait()
            if not alone:
                server = start(port, **environment)
                wait_for(f"{address}/_stcore/health", server)
                more(phones)
    finally:
        server.kill()
        server.wait()
    store = SqliteStore(path)
    classroom, stored = store.read(teacher.code), [answer.participant for answer in store.answers(teacher.code, 1)]
    assert {hash_participant(classroom, number) for number in phones.acknowledged} <= set(stored)
    assert len(stored) == len(set(stored)) <= len(phones.acknowledged) + phones.failed and (alone or phones.failed)
    assert Teacher(store, teacher.code, teacher.secret).look().classroom.current.closed is None, "the class goes on"
