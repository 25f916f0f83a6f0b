"""Both stores, for the same tests."""

from collections.abc import Iterator

import pytest
from support.classes import Clock, RedisServer

from headlight.classroom.redis_store import RedisStore
from headlight.classroom.sqlite_store import SqliteStore
from headlight.classroom.store import Store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory) -> Iterator[RedisServer]:
    """A Redis for all tests that do not kill it."""
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.kill()


@pytest.fixture(params=["sqlite", "redis"])
def store(request, clock, tmp_path) -> Iterator[Store]:
    """An empty store."""
    if request.param == "sqlite":
        found: Store = SqliteStore(tmp_path / "classes.sqlite3", clock)
    else:
        server = request.getfixturevalue("redis_server")
        with server.client() as client:
            client.flushall()
        found = RedisStore(server.url, clock)
    yield found
    found.close()
