"""Sentences on the division by the root of d_k, computed from what was measured."""

import numpy as np

from headlight.plots.text import percent, quoted_at
from transformer.experiments.attention import RandomProducts, softmax_jacobian_norm
from transformer.interpret.attention_block import Stages, undivided

_SATURATED = 1e-6  # a softmax's Jacobian below this is float32's rounding


def describe_head(stages: Stages, head: int, queries: tuple[str, ...]) -> str:
    """Return what the division does to this head: its products, its weights, and the gradient through its softmax."""
    weights = undivided(stages, head)
    without, divided = (part.max(axis=-1) for part in weights)
    unmasked = stages.unmasked[0]
    products, scores = (part[0, head][unmasked].std() for part in (stages.products, stages.scores))
    most = int((without - divided).argmax())
    steep, steep_divided = (softmax_jacobian_norm(part).sum() for part in weights)
    text = (
        f"Without the division a row's largest weight would be {without.mean():.2f} on average instead of "
        f"{divided.mean():.2f}; the row of {quoted_at(queries, most, 'query')} changes most, from {divided[most]:.2f} "
        f"to {without[most]:.2f}. The unmasked products have a standard deviation of {products:.2f}, the scores "
        f"{scores:.2f}. "
    )
    if steep_divided < _SATURATED:
        return f"{text}Each row gives one key all of its weight, so softmax passes no gradient."
    ratio = steep / steep_divided
    return (
        f"{text}Softmax's Jacobian with respect to the scores (the sum of its absolute entries) would be "
        f"{percent(ratio)} of what it is; with respect to q·k, where the division adds a factor of 1/√{stages.d_k}, "
        f"{percent(ratio * np.sqrt(stages.d_k))}."
    )


def describe_random(spread: RandomProducts) -> str:
    """Return what the random vectors show, at the smallest and the largest size."""
    low, high = spread.sizes[0], spread.sizes[-1]
    mean = spread.gradient_scaled[-1] / spread.gradient[-1] / np.sqrt(high)
    return (
        f"At d_k {high} random products have a standard deviation of {spread.products[-1]:.1f} (√{high} = "
        f"{np.sqrt(high):.1f}), and one of {spread.keys} keys gets {spread.largest[-1]:.2f} of the weight on average; "
        f"divided, {spread.largest_scaled[-1]:.2f}. At d_k {low} it is {spread.largest_scaled[0]:.2f} either way. The "
        f"gradient with respect to q·k is at d_k {high} with the division {mean:,.2f} times as large as without it "
        f"where rows are averaged, and {spread.typical_ratio[-1]:,.2f} times where medians are compared: it is the "
        "typical, saturated row that gains."
    )
