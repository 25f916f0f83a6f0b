"""Small experiments with attention: the scaling, a fully masked row, and a block by hand."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from ..arrays import softmax
from ..config import Norm, check_bounds, require
from ..errors import ConfigError
from ..interpret.attention_block import BlockParameters, Stages, compute_stages, differences
from ..model.names import Name

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)  # d_k that are drawn
_SAMPLES, _KEYS = 400, 10  # rows that are drawn for each size, keys a row


@dataclass(frozen=True, eq=False)
class RandomProducts:
    """Products of random queries and keys at each of `sizes`: [sizes], averages over many rows of `keys` keys.

    Their components are independent, normal, with mean 0 and variance 1. `products` and `scores` are the standard
    deviations of q k and of q k / sqrt(d_k); `largest` and `largest_scaled` the mean largest weight of a row's softmax
    without the division and with it; `gradient` and `gradient_scaled` the mean of the sum of |d weight_i / d score_j|
    over a row's softmax, with respect to what softmax is given. `typical_ratio`: how much of a gradient with respect to
    q k the median row lets through with the division, the chain rule's 1 / sqrt(d_k) included, over that without it.
    """

    sizes: tuple[int, ...]
    keys: int
    products: np.ndarray
    scores: np.ndarray
    largest: np.ndarray
    largest_scaled: np.ndarray
    gradient: np.ndarray
    gradient_scaled: np.ndarray
    typical_ratio: np.ndarray


def measure_random_products(seed: int, sizes: tuple[int, ...] = SIZES) -> RandomProducts:
    """Measure random vectors (paper, 3.2.1, footnote 4: q k has mean 0 and variance d_k)."""
    rows = [_measure(np.random.default_rng([seed, size]), size) for size in sizes]
    return RandomProducts(sizes, _KEYS, **{name: np.array([row[name] for row in rows]) for name in rows[0]})


def _measure(generator: np.random.Generator, d_k: int) -> dict[str, float]:
    queries = generator.standard_normal((_SAMPLES, 1, d_k))
    products = (queries * generator.standard_normal((_SAMPLES, _KEYS, d_k))).sum(axis=-1)
    scores = products / np.sqrt(d_k)
    weights, weights_scaled = softmax(products), softmax(scores)
    steep = softmax_jacobian_norm(weights)
    return {
        "products": products.std(),
        "scores": scores.std(),
        "largest": weights.max(axis=-1).mean(),
        "largest_scaled": weights_scaled.max(axis=-1).mean(),
        "gradient": steep.mean(),
        "gradient_scaled": softmax_jacobian_norm(weights_scaled).mean(),
        "typical_ratio": np.median(softmax_jacobian_norm(weights_scaled)) / np.sqrt(d_k) / np.median(steep),
    }


def softmax_jacobian_norm(weights: np.ndarray) -> np.ndarray:
    """Sum |d weight_i / d score_j| over i and j of each row: [..., keys] -> [...].

    The derivative of softmax is weight_i (1 - weight_i) on the diagonal and -weight_i weight_j beside it, so the sum is
    2 (1 - sum of squared weights): 0 where one key has all.
    """
    return np.asarray(2 * (1 - (np.asarray(weights, dtype=np.float64) ** 2).sum(axis=-1)))


@dataclass(frozen=True)
class FullyMaskedRow:
    """The weights of such a row: with -inf before softmax, with -1e9 in place of the scores, and as PyTorch's fused
    kernel has them, read from its output for the identity as values."""

    with_infinity: tuple[float, ...]
    with_large_number: tuple[float, ...]
    fused: tuple[float, ...]


def fully_masked_row(scores: list[float]) -> FullyMaskedRow:
    """Compute all three for a row of scores, in float32."""
    row = torch.tensor(scores)
    mask = torch.zeros(len(scores), dtype=torch.bool)
    query, keys = torch.ones(1, 1), row[:, None]  # one dimension: query times key is the score itself
    values = torch.eye(len(scores))
    fused = F.scaled_dot_product_attention(query[None, None], keys[None, None], values[None, None], mask[None])[0, 0, 0]
    return FullyMaskedRow(
        with_infinity=tuple(row.masked_fill(~mask, -math.inf).softmax(dim=-1).tolist()),
        with_large_number=tuple(row.masked_fill(~mask, -1e9).softmax(dim=-1).tolist()),
        fused=tuple(fused.tolist()),
    )


class ToyMask(Name):
    """The mask that a toy block begins with."""

    NONE = "none"
    CAUSAL = "causal"


LARGEST = 1000.0  # of a number that may be typed
_MOST = {"batch": 3, "tokens": 6, "d_model": 16, "num_heads": 8}


@dataclass(frozen=True)
class ToyShape:
    """Sizes of a toy block. Raises ConfigError for sizes that are too large or heads that do not divide d_model."""

    batch: int = 2
    tokens: int = 3
    d_model: int = 8
    num_heads: int = 2
    norm: Norm = Norm.POST

    def __post_init__(self) -> None:
        check_bounds(self, {name: (1, most) for name, most in _MOST.items()})
        multiple = f"{self.d_model} is not a multiple of {self.num_heads}. Choose others."
        require(self.d_model % self.num_heads == 0, f"num_heads must divide d_model: {multiple}")


@dataclass(frozen=True, eq=False)
class ToyNumbers:
    """Everything that goes into a toy block. x: [batch, tokens, d_model]; unmasked: [batch, tokens, tokens]."""

    x: np.ndarray
    unmasked: np.ndarray
    parameters: BlockParameters

    def stages(self) -> Stages:
        """Compute what comes out, in float64."""
        return compute_stages(self.x, None, self.unmasked, self.parameters)


def toy_numbers(shape: ToyShape, seed: int, mask: ToyMask | str = ToyMask.NONE) -> ToyNumbers:
    """Draw numbers of one decimal, small enough for softmax to stay soft; raises ConfigError for an unknown mask."""
    if mask not in tuple(ToyMask):
        raise ConfigError(f"mask must be one of {', '.join(ToyMask)}, not {mask!r}.")
    generator = np.random.default_rng([seed, *_MOST.values()])
    d_model = shape.d_model

    def draw(*size: int, deviation: float) -> np.ndarray:
        return np.round(deviation * generator.standard_normal(size), 1) + 0.0  # no negative zeros

    x = draw(shape.batch, shape.tokens, d_model, deviation=1.0)
    drawn = {name: draw(d_model, d_model, deviation=0.5) for name in _MATRICES.values()}
    drawn |= {name: draw(d_model, deviation=0.1) for name in _ROWS["biases"]}
    drawn |= {"gamma": np.ones(d_model), "beta": np.zeros(d_model)}
    parameters = BlockParameters(**drawn, epsilon=1e-5, num_heads=shape.num_heads, norm=shape.norm)  # type: ignore[arg-type]
    cells = np.ones((shape.batch, shape.tokens, shape.tokens), dtype=bool)
    return ToyNumbers(x, np.tril(cells) if mask == ToyMask.CAUSAL else cells, parameters)


TABLES = ("X", "W_Q", "W_K", "W_V", "W_O", "biases", "γ and β")
_MATRICES = {"W_Q": "w_query", "W_K": "w_key", "W_V": "w_value", "W_O": "w_output"}
_ROWS = {"biases": ("b_query", "b_key", "b_value", "b_output"), "γ and β": ("gamma", "beta")}


def table(numbers: ToyNumbers, name: str, sentence: int = 0) -> np.ndarray:
    """Return one of the TABLES as a matrix to be shown or changed; X is that of one sentence of the batch."""
    if name == "X":
        return np.asarray(numbers.x[sentence])
    if name in _MATRICES:
        return np.asarray(getattr(numbers.parameters, _MATRICES[name]))
    return np.stack([getattr(numbers.parameters, row) for row in _ROWS[name]])


def with_table(numbers: ToyNumbers, name: str, values: np.ndarray, sentence: int = 0) -> ToyNumbers:
    """Replace one table of the numbers; raises ConfigError for what is no number, or too large a one."""
    values = np.asarray(values, dtype=np.float64)
    if values.shape != table(numbers, name, sentence).shape:
        raise ValueError(f"{name} has the shape {table(numbers, name, sentence).shape}, got {values.shape}")
    if not np.isfinite(values).all() or np.abs(values).max() > LARGEST:
        raise ConfigError(f"Every cell of {name} needs a number between -{LARGEST:g} and {LARGEST:g}.")
    if name == "X":
        x = numbers.x.copy()
        x[sentence] = values
        return replace(numbers, x=x)
    changed = {_MATRICES[name]: values} if name in _MATRICES else dict(zip(_ROWS[name], values, strict=True))
    return replace(numbers, parameters=replace(numbers.parameters, **changed))


def rounding_gaps(stages: Stages) -> dict[str, float]:
    """Return how far float32, in which a model computes, is from float64, stage by stage."""
    shorter: dict[str, Any] = {
        name: value.astype(np.float32) for name, value in stages.arrays.items() if value.dtype != bool
    }
    return differences(replace(stages, **shorter), stages)
