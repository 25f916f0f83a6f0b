"""One multi-head attention stage by stage, from its input to the LayerNorm around it, in NumPy and float64."""

from dataclasses import dataclass, fields

import numpy as np


@dataclass(frozen=True, eq=False)
class BlockParameters:
    """What one attention block and the residual around it have learned, each matrix as the X W of the paper has it.

    w_query, w_key, w_value, w_output: [d_model, d_model], head h owns the columns h d_k to (h + 1) d_k of the first
    three and these rows of the last; b_*: [d_model]; gamma, beta: [d_model], of the LayerNorm; `norm`: "post" or "pre".
    """

    w_query: np.ndarray
    w_key: np.ndarray
    w_value: np.ndarray
    w_output: np.ndarray
    b_query: np.ndarray
    b_key: np.ndarray
    b_value: np.ndarray
    b_output: np.ndarray
    gamma: np.ndarray
    beta: np.ndarray
    epsilon: float
    num_heads: int
    norm: str


@dataclass(frozen=True, eq=False)
class Stages:
    """Every intermediate result of one attention block for a batch. Nothing here is changed later.

    stream: [batch, queries, d_model], what comes along the residual way; x: what the block reads of it, the same with
    post-norm, its LayerNorm with pre-norm; memory: [batch, keys, d_model], what keys and values are made of, x itself
    in self-attention; query, key, value: [batch, length, d_model], all heads side by side; products, Q K^T, and scores,
    divided by sqrt(d_k), and weights: [batch, heads, queries, keys]; open_cells: [batch, queries, keys], True where a
    query may attend; concatenated: [batch, queries, d_model], weights times value, head after head; output: times W_O;
    total: stream + output; result: its LayerNorm with post-norm, the same with pre-norm.
    """

    stream: np.ndarray
    x: np.ndarray
    memory: np.ndarray
    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    products: np.ndarray
    scores: np.ndarray
    open_cells: np.ndarray
    weights: np.ndarray
    concatenated: np.ndarray
    output: np.ndarray
    total: np.ndarray
    result: np.ndarray

    @property
    def num_heads(self) -> int:
        """How many heads there are."""
        return self.weights.shape[1]

    @property
    def d_k(self) -> int:
        """Dimensions of one head."""
        return self.query.shape[-1] // self.num_heads


def compute_stages(
    stream: np.ndarray, memory: np.ndarray | None, open_cells: np.ndarray, parameters: BlockParameters
) -> Stages:
    """All stages in float64 (paper, eq. 1, 3.2.2 and 5.4; dropout, which is for training only, left out).

    stream: [batch, queries, d_model]; memory: [batch, keys, d_model], None for self-attention; open_cells: [batch,
    queries, keys]. A row whose every key is masked gets weight 0 everywhere, as from PyTorch's fused kernel. Raises
    ValueError where `num_heads` does not divide d_model.
    """
    stream = np.asarray(stream, dtype=np.float64)
    x = normalise(stream, parameters) if parameters.norm == "pre" else stream
    memory = x if memory is None else np.asarray(memory, dtype=np.float64)
    query = x @ parameters.w_query + parameters.b_query
    key = memory @ parameters.w_key + parameters.b_key
    value = memory @ parameters.w_value + parameters.b_value
    split_query, split_key, split_value = (split_heads(part, parameters.num_heads) for part in (query, key, value))
    products = split_query @ split_key.swapaxes(-2, -1)
    scores = products / np.sqrt(split_query.shape[-1])
    weights = masked_softmax(scores, open_cells[:, None])
    concatenated = merge_heads(weights @ split_value)
    output = concatenated @ parameters.w_output + parameters.b_output
    total = stream + output
    result = total if parameters.norm == "pre" else normalise(total, parameters)
    return Stages(
        stream, x, memory, query, key, value, products, scores, open_cells, weights, concatenated, output, total, result
    )


def split_heads(x: np.ndarray, num_heads: int) -> np.ndarray:
    """[batch, length, d_model] -> [batch, heads, length, d_k]; raises ValueError where that leaves a remainder."""
    batch, length, d_model = x.shape
    if d_model % num_heads:
        raise ValueError(f"num_heads must divide d_model, got d_model={d_model} and num_heads={num_heads}")
    return x.reshape(batch, length, num_heads, d_model // num_heads).swapaxes(1, 2)


def merge_heads(heads: np.ndarray) -> np.ndarray:
    """[batch, heads, length, d_k] -> [batch, length, d_model], head after head."""
    batch, num_heads, length, d_k = heads.shape
    return heads.swapaxes(1, 2).reshape(batch, length, num_heads * d_k)


def masked_softmax(scores: np.ndarray, open_cells: np.ndarray) -> np.ndarray:
    """exp of each open score over the sum of its row; 0 where the mask is closed, in a fully closed row everywhere."""
    masked = np.where(open_cells, scores, -np.inf)
    largest = masked.max(axis=-1, keepdims=True)
    powers = np.exp(masked - np.where(np.isfinite(largest), largest, 0.0))
    total = powers.sum(axis=-1, keepdims=True)
    return np.divide(powers, total, out=np.zeros_like(powers), where=total > 0)


def normalise(x: np.ndarray, parameters: BlockParameters) -> np.ndarray:
    """LayerNorm: vectors minus their mean over their spread, times gamma, plus beta (Ba et al. 2016): [..., d_model]"""
    centred = x - x.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + parameters.epsilon)
    return centred / spread * parameters.gamma + parameters.beta


def differences(shown: Stages, recomputed: Stages) -> dict[str, float]:
    """The largest absolute difference of every stage, by the stage's name."""
    names = [field.name for field in fields(Stages) if field.name != "open_cells"]
    return {name: float(np.abs(getattr(shown, name) - getattr(recomputed, name)).max()) for name in names}
