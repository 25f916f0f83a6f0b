"""NumPy arrays: read-only conversion from tensors, softmax, entropy and cosine."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor  # arrays of other libraries are measured without it


def read_only(array: np.ndarray) -> np.ndarray:
    """Make an array read-only and return it: threads share traces."""
    array.setflags(write=False)
    return array


def to_array(tensor: "Tensor") -> np.ndarray:
    """Return a tensor's values on the CPU, read-only and contiguous; a tensor that is there already is not copied.

    Half precision becomes float32: NumPy has no bfloat16.
    """
    return read_only(np.ascontiguousarray(widened(tensor.detach()).cpu().numpy()))


def to_float64(tensor: "Tensor") -> np.ndarray:
    """Return a tensor's values on the CPU in float64."""
    return to_array(tensor).astype(np.float64)


def widened(tensor: "Tensor") -> "Tensor":
    """Return a tensor of half precision in float32, any other as it is: probabilities need the digits."""
    return tensor.float() if tensor.dtype.is_floating_point and tensor.dtype.itemsize < 4 else tensor


def require_index(name: str, value: int, count: int) -> None:
    """Raise ValueError unless `value` is a number from 0 to `count` - 1."""
    if not 0 <= value < count:
        raise ValueError(f"{name} must be in 0 to {count - 1}, got {value}")


def softmax(scores: np.ndarray, unmasked: np.ndarray | None = None) -> np.ndarray:
    """exp of each score over the sum of its row, in float64: [..., keys].

    unmasked: broadcastable to the scores, True where a score counts. The others get exactly 0, as does a score of
    minus infinity; a row without any score that counts is all 0, as from PyTorch's fused kernel.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if unmasked is not None:
        scores = np.where(unmasked, scores, -np.inf)
    largest = scores.max(axis=-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isfinite(largest), largest, 0.0))
    total = powers.sum(axis=-1, keepdims=True)
    return np.divide(powers, total, out=np.zeros_like(powers), where=total > 0)


def entropy(probabilities: np.ndarray) -> np.ndarray:
    """-sum p log p of each row in nats, in float64, 0 log 0 = 0 and NaN (a masked cell) as 0: [..., n] -> [...]."""
    probabilities = np.nan_to_num(np.asarray(probabilities, dtype=np.float64))
    return -(probabilities * np.log(np.where(probabilities > 0, probabilities, 1.0))).sum(axis=-1)


def cosine(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the cosine between vectors along the last axis, in float64; 0 where one has the length 0."""
    one, other = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    lengths = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
    return (one * other).sum(axis=-1) / np.maximum(lengths, 1e-300)
