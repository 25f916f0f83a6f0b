"""A store of classes, and its clock."""

from collections.abc import Iterator

import pytest
from support.classes import Clock

from headlight.classroom.sqlite_store import SqliteStore


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock, tmp_path) -> Iterator[SqliteStore]:
    """An empty store."""
    found = SqliteStore(tmp_path / "classes.sqlite3", clock)
    yield found
    found.close()
