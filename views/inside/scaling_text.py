"""Sentences on the division by the root of d_k, computed from what was measured."""

import numpy as np

from plots.text import percent, quoted
from transformer.arrays import softmax
from transformer.experiments.dot_product_scaling import RandomProducts, softmax_jacobian_norm
from transformer.interpret.attention_block import Stages


def undivided(stages: Stages, head: int) -> tuple[np.ndarray, np.ndarray]:
    """The weights of a head of the first sentence as they would be without the division, and as they are.

    Two arrays [queries, keys].
    """
    without = softmax(np.asarray(stages.products[0, head], dtype=np.float64), stages.unmasked[0])
    return without, np.asarray(stages.weights[0, head], dtype=np.float64)


def describe_head(stages: Stages, head: int, queries: tuple[str, ...]) -> str:
    """What the division does to this head: its products, its weights, and the gradient through its softmax."""
    unmasked = stages.unmasked[0]
    without, divided = undivided(stages, head)
    choices = unmasked.sum(axis=-1) > 1
    if not choices.any():
        return "Every row has a single unmasked key, so the division changes nothing here."
    products, scores = (
        part[0, head][np.broadcast_to(unmasked, part[0, head].shape)].std() for part in (stages.products, stages.scores)
    )
    means = [part[choices].max(axis=-1).mean() for part in (without, divided)]
    change = np.where(choices, without.max(axis=-1) - divided.max(axis=-1), -np.inf)
    most = int(change.argmax())
    jacobians = [softmax_jacobian_norm(part[choices]).mean() for part in (without, divided)]
    return (
        f"In this head the unmasked products have a standard deviation of {products:.2f}, the scores {scores:.2f}. "
        f"Without the division the largest weight of a row would be {means[0]:.2f} on average instead of "
        f"{means[1]:.2f}; the row of {quoted(queries[most])} changes most, from {divided[most].max():.2f} to "
        f"{without[most].max():.2f}. With respect to the scores, softmax's Jacobian would have "
        f"{percent(jacobians[0] / jacobians[1])} of its norm; with respect to the products q·k, through which the "
        f"gradient also passes the factor 1/√{stages.d_k}, "
        f"{percent(jacobians[0] / jacobians[1] * np.sqrt(stages.d_k))}."
    )


def describe_random(spread: RandomProducts) -> str:
    """What the random vectors show, at the smallest and the largest size."""
    low, high = spread.sizes[0], spread.sizes[-1]
    return (
        f"At d_k {high} random products have a standard deviation of {spread.products[-1]:.1f} (√{high} = "
        f"{np.sqrt(high):.1f}) and one of {spread.keys} keys gets {spread.largest[-1]:.2f} of the weight on average, "
        f"though nothing was learned; divided, {spread.largest_scaled[-1]:.2f}, about as much as at d_k {low} "
        f"({spread.largest_scaled[0]:.2f}). Of the gradient with respect to q·k, the chain rule's 1/√d_k included, the "
        f"division lets {_times(spread.gradient_scaled[-1] / spread.gradient[-1] / np.sqrt(high))} as much through at "
        f"d_k {high} in the mean of all rows, and {_times(spread.typical_ratio[-1])} in the median row: it is the "
        "typical, saturated row that gains."
    )


def _times(ratio: float) -> str:
    return f"{ratio:,.2g} times" if ratio < 10 else f"{ratio:,.0f} times"
