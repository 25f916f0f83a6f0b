"""Small things that many do with NumPy arrays."""

import numpy as np


def read_only(array: np.ndarray) -> np.ndarray:
    """The array itself, made read-only: a trace is shared by all who look at it."""
    array.setflags(write=False)
    return array
