"""Sentences on the division by the root of d_k, computed from what was measured."""

import numpy as np

from headlight.plots.text import apart, percent, quoted_at
from transformer.arrays import softmax
from transformer.experiments.dot_product_scaling import RandomProducts, softmax_jacobian_norm
from transformer.interpret.attention_block import Stages

_SATURATED = 1e-6  # a softmax's Jacobian below this is float32's rounding


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
    means = [float(part[choices].max(axis=-1).mean()) for part in (without, divided)]
    change = np.where(choices, without.max(axis=-1) - divided.max(axis=-1), -np.inf)
    most = int(change.argmax())
    jacobians = [softmax_jacobian_norm(part[choices]).mean() for part in (without, divided)]
    rows = "row" if choices.all() else "row with more than one unmasked key"
    text = f"In this head the unmasked products have a standard deviation of {products:.2f}, the scores {scores:.2f}."
    if jacobians[1] < _SATURATED:
        return (
            f"{text} Each {rows} gives one key all of its weight, with the division as without it, so softmax passes "
            "no gradient."
        )
    mean_without, mean_divided = apart(*means)
    high, low = apart(float(without[most].max()), float(divided[most].max()))
    text += (
        f" Without the division the largest weight of a {rows} would be {mean_without} on average instead of "
        f"{mean_divided}; the row of {quoted_at(queries, most, 'query')} changes most, from {low} to {high}."
    )
    ratio = jacobians[0] / jacobians[1]
    return (
        f"{text} Softmax's Jacobian with respect to the scores, the sum of its absolute entries averaged over these "
        f"rows, would be {percent(ratio)} of what it is; with respect to the products q·k, where the division adds a "
        f"factor of 1/√{stages.d_k}, {percent(ratio * np.sqrt(stages.d_k))}."
    )


def describe_random(spread: RandomProducts) -> str:
    """What the random vectors show, at the smallest and the largest size."""
    low, high = spread.sizes[0], spread.sizes[-1]
    mean = spread.gradient_scaled[-1] / spread.gradient[-1] / np.sqrt(high)
    return (
        f"At d_k {high} random products have a standard deviation of {spread.products[-1]:.1f} (√{high} = "
        f"{np.sqrt(high):.1f}) and one of {spread.keys} keys gets {spread.largest[-1]:.2f} of the weight on average, "
        f"though nothing was learned; divided, {spread.largest_scaled[-1]:.2f}. At d_k {low} it is "
        f"{spread.largest_scaled[0]:.2f} either way. The gradient with respect to q·k, the chain rule's 1/√d_k "
        f"included, is at d_k {high} with the division {_times(mean)} as large as without it "
        f"where rows are averaged, and {_times(spread.typical_ratio[-1])} where medians are compared: it is "
        "the typical, saturated row that gains."
    )


def _times(ratio: float) -> str:
    return f"{ratio:,.2g} times" if ratio < 10 else f"{ratio:,.0f} times"
