"""What the tests of live trainings share."""

from collections.abc import Iterator

import pytest

import session


@pytest.fixture
def jobs() -> Iterator:
    """Jobs of this test alone, two at once, whatever the machine; none outlives it."""
    session.jobs.clear()
    yield session.jobs()
    session.jobs.clear()
