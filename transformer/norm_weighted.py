"""Norm-weighted attention (Kobayashi et al. 2020): how long the vector is that a key really hands over. NumPy only."""

import numpy as np

from .stages import BlockParameters, Stages, split_heads


def handed_over(stages: Stages, parameters: BlockParameters) -> np.ndarray:
    """The Euclidean norm of weight times (value W_O of the head) for each pair: [batch, heads, queries, keys].

    A key with a large weight and a short vector hands over little (Kobayashi et al. 2020, eq. 5). The bias of W_O
    belongs to no key and is left out.
    """
    heads = stages.num_heads
    values = split_heads(np.asarray(stages.value, dtype=np.float64), heads)  # batch heads keys d_k
    rows = np.asarray(parameters.w_output, dtype=np.float64).reshape(heads, stages.d_k, -1)  # heads d_k d_model
    lengths = np.linalg.norm(values @ rows, axis=-1)  # batch heads keys
    return np.asarray(stages.weights, dtype=np.float64) * lengths[:, :, None, :]


def handed_over_together(stages: Stages, parameters: BlockParameters) -> np.ndarray:
    """The norm of what all heads together hand over for each pair: [batch, queries, keys].

    Vectors of several heads may cancel, so this is not the sum of the heads' norms.
    """
    heads = stages.num_heads
    values = split_heads(np.asarray(stages.value, dtype=np.float64), heads)
    rows = np.asarray(parameters.w_output, dtype=np.float64).reshape(heads, stages.d_k, -1)
    vectors = values @ rows  # batch heads keys d_model
    weights = np.asarray(stages.weights, dtype=np.float64)
    return np.linalg.norm(np.einsum("bhqk,bhkd->bqkd", weights, vectors), axis=-1)


def shares(lengths: np.ndarray) -> np.ndarray:
    """Each row over its sum, so that it can be held beside attention; a row of zeros stays 0: [..., queries, keys]."""
    totals = lengths.sum(axis=-1, keepdims=True)
    return np.divide(lengths, totals, out=np.zeros_like(lengths), where=totals > 0)
