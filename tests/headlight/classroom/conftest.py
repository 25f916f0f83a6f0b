"""A store of classes, and its clock."""

from collections.abc import Iterator

import pytest
from support.classes import Clock

from headlight.classroom import Teacher, admission, open_class
from headlight.classroom.sqlite_store import SqliteStore


@pytest.fixture(autouse=True)
def no_wait(monkeypatch) -> None:
    """Let a newcomer in with the second request, whenever it comes: `Phone` sends it at once."""
    monkeypatch.setattr(admission, "ASK_AGAIN", 0.0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock, tmp_path) -> Iterator[SqliteStore]:
    """Yield an empty store."""
    opened = SqliteStore(tmp_path / "classes.sqlite3", clock)
    yield opened
    opened.close()


@pytest.fixture
def teacher(store) -> Teacher:
    """Return the teacher of a class whose code has a letter: in lower case it is another text."""
    return next(each for each in iter(lambda: open_class(store), None) if not each.code.isdecimal())
