"""Equality of numbers up to rounding."""

from typing import Any

import numpy as np
import torch

ROUNDINGS = 64  # that may add up on the way of a number through a model


class near:  # noqa: N801 (used like pytest.approx)
    """Expected numbers, equal to others that differ by rounding alone: `assert found == near(expected)`.

    The tolerance is ROUNDINGS units in the last place of the largest number, expected or in `scale`. Pass as `scale`
    what was subtracted, where the expected numbers are differences. Python's floats and float64 are taken for results
    of float32, in which models compute. NaN equals NaN; shapes must agree, but for a single expected number.
    """

    __array_ufunc__ = None  # NumPy leaves == to this class

    def __init__(self, expected: Any, scale: Any = 0.0):
        self.expected = expected
        largest = max(_largest(expected), _largest(scale))
        self.tolerance = ROUNDINGS * _epsilon(expected) * largest

    def __eq__(self, other: object) -> bool:
        values, expected = _array(other), _array(self.expected)
        if expected.shape not in ((), values.shape):
            return False
        equal = (values == expected) | (np.isnan(values) & np.isnan(expected))
        with np.errstate(invalid="ignore"):
            return bool((equal | (np.abs(values - expected) <= self.tolerance)).all())

    def __repr__(self) -> str:
        return f"{self.expected!r} ± {self.tolerance:.2g}"


def _epsilon(numbers: Any) -> float:
    """Return the distance from 1 to the next number in the type of these, at least in float32."""
    dtype = numbers.dtype if isinstance(numbers, torch.Tensor) and numbers.is_floating_point() else torch.float32
    return max(torch.finfo(dtype).eps, torch.finfo(torch.float32).eps)


def _largest(numbers: Any) -> float:
    values = np.abs(_array(numbers))
    return float(values[np.isfinite(values)].max(initial=0.0))


def _array(numbers: Any) -> np.ndarray:
    if isinstance(numbers, torch.Tensor):
        return numbers.detach().double().cpu().numpy()
    return np.asarray(numbers, dtype=np.float64)
