"""The learned parameters: rows of the output projection, and the nearest rows of an embedding."""

import numpy as np

from ..arrays import cosine, require_index, to_array
from ..model.transformer import Transformer


def output_row(model: Transformer, token: int) -> tuple[np.ndarray, float | None]:
    """Return a token's row of the output projection, [d_model], and its bias if any; ValueError for no such id.

    Where a model scales the projection's input, the row is scaled: its product with the unscaled input is the logit.
    """
    require_index("id", token, model.config.output_size)
    projection = model.output_projection
    bias = None if projection.bias is None else projection.bias[token].item()
    return to_array(projection.weight[token] * projection.scale), bias


def nearest(matrix: np.ndarray, token: int, count: int = 10) -> list[tuple[int, float]]:
    """Return the ids whose rows have the largest cosine with the row of `token`, itself left out, largest first.

    matrix: [vocab, d_model]. A row of zeros has the cosine 0 with all. Raises ValueError for an id that is not there.
    """
    require_index("id", token, len(matrix))
    cosines = cosine(matrix, matrix[token])
    order = [int(other) for other in np.argsort(-cosines, kind="stable") if other != token]
    return [(other, float(cosines[other])) for other in order[:count]]
