"""Why scores are divided by sqrt(d_k): how random dot products grow, and what softmax makes of them. NumPy only."""

from dataclasses import dataclass

import numpy as np

from ..arrays import softmax

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)  # d_k that are drawn
_SAMPLES, _KEYS = 400, 10  # rows that are drawn for each size, keys a row


@dataclass(frozen=True, eq=False)
class RandomProducts:
    """What random queries and keys do at each of `sizes`: [sizes], averages over many rows of `keys` keys.

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


def measure_random_products(seed: int, sizes: tuple[int, ...] = SIZES, keys: int = _KEYS) -> RandomProducts:
    """Measure random vectors (paper, 3.2.1, footnote 4: q k has mean 0 and variance d_k)."""
    rows = [_measure(np.random.default_rng([seed, size]), size, keys) for size in sizes]
    return RandomProducts(sizes, keys, **{name: np.array([row[name] for row in rows]) for name in rows[0]})


def _measure(generator: np.random.Generator, d_k: int, keys: int) -> dict[str, float]:
    queries = generator.standard_normal((_SAMPLES, 1, d_k))
    products = (queries * generator.standard_normal((_SAMPLES, keys, d_k))).sum(axis=-1)
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
    """The sum of |d weight_i / d score_j| over i and j of each row: [..., keys] -> [...].

    The derivative of softmax is weight_i (1 - weight_i) on the diagonal and -weight_i weight_j beside it, so the sum is
    2 (1 - sum of squared weights): 0 where one key has all.
    """
    return 2 * (1 - (np.asarray(weights, dtype=np.float64) ** 2).sum(axis=-1))
