"""Fixtures of the tests of live trainings."""

from collections.abc import Iterator

import pytest

from headlight.app.results import training_runs


@pytest.fixture
def jobs() -> Iterator:
    """Yield jobs of this test alone, two at once, whatever the machine; none outlives it."""
    training_runs.jobs.clear()
    yield training_runs.jobs()
    training_runs.jobs.clear()


@pytest.fixture
def waiting(jobs):
    """Return jobs that stay in line, for tests that need no training to run."""
    jobs.at_once = 0
    return jobs
