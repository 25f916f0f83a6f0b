"""Weights in 8 bits: each row of a matrix as whole numbers from -127 to 127 and one scale, its largest magnitude / 127.

Vectors (biases, norms) stay float32. In a file the scales of `NAME` are called `NAME.scales`.
"""

from pathlib import Path

import numpy as np
import torch

from .errors import CheckpointError
from .files import load_tensors

_MOST = 127  # of a weight's byte, either side of 0
_SCALES = ".scales"


def quantize(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Round a float32 matrix row by row: whole numbers, int8 [rows, columns], and scales, float32 [rows]."""
    scales = (np.abs(matrix).max(axis=1) / _MOST).astype(np.float32)
    divisors = np.where(scales > 0, scales, 1)
    return np.rint(matrix / divisors[:, None]).astype(np.int8), scales


def rounded_to_bytes(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the tensors of a file of 8 bits: matrices as int8 with their scales, all others as float32."""
    tensors = {}
    for name, weight in weights.items():
        tensors[name] = weight = weight.float()
        if weight.dim() == 2:
            whole, scales = map(torch.from_numpy, quantize(weight.numpy()))
            tensors |= {name: whole, name + _SCALES: scales}
    return tensors


def load_weights(path: Path) -> dict[str, torch.Tensor]:
    """Read a checkpoint's weights, those in 8 bits as float32.

    Raises CheckpointError where the file is missing or damaged, or scales do not fit their matrices.
    """
    tensors = load_tensors(path)
    scales = {name: tensors.pop(name) for name in list(tensors) if name.endswith(_SCALES)}
    for name, whole in tensors.items():
        if whole.dtype == torch.int8:
            tensors[name] = whole.float() * _checked(scales.pop(name + _SCALES, None), whole, name, path)
    if scales:
        raise CheckpointError(f"{path} is damaged: {min(scales)} belongs to no matrix of 8 bits.")
    return tensors


def _checked(scale: torch.Tensor | None, whole: torch.Tensor, name: str, path: Path) -> torch.Tensor:
    """Return the scales of a matrix as a column; raises CheckpointError where they are none."""
    fits = scale is not None and scale.dtype == torch.float32 and whole.dim() == 2 and scale.shape == whole.shape[:1]
    if scale is None or not fits or not (scale.isfinite() & (scale >= 0)).all():
        raise CheckpointError(f"{path} is damaged: {name} is a matrix of 8 bits without one valid scale per row.")
    return scale[:, None]
