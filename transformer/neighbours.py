"""Pieces whose rows in the embedding matrix point the same way. NumPy only."""

import numpy as np


def nearest(matrix: np.ndarray, id: int, count: int = 10) -> list[tuple[int, float]]:
    """The ids whose rows have the largest cosine with the row of `id`, itself left out, largest first.

    matrix: [vocab, d_model]. A row of zeros points nowhere and has the cosine 0 with all. Raises ValueError for an id
    that is not there.
    """
    if not 0 <= id < len(matrix):
        raise ValueError(f"id must be in 0 to {len(matrix) - 1}, got {id}")
    rows = np.asarray(matrix, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1)
    cosines = rows @ rows[id] / np.maximum(lengths * lengths[id], 1e-300)
    order = [int(other) for other in np.argsort(-cosines, kind="stable") if other != id]
    return [(other, float(cosines[other])) for other in order[:count]]
