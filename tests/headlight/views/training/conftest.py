"""What the tests of live trainings share."""

from collections.abc import Iterator

import pytest

from headlight.app import results


@pytest.fixture
def jobs() -> Iterator:
    """Jobs of this test alone, two at once, whatever the machine; none outlives it."""
    results.jobs.clear()
    yield results.jobs()
    results.jobs.clear()
