"""A generator of random numbers."""

import numpy as np
import pytest


@pytest.fixture
def random() -> np.random.Generator:
    """Return a generator that begins anew for each test."""
    return np.random.default_rng(8)
