"""The view on the division by the root of d_k."""

import numpy as np
import streamlit as st

import headlight.plots as plots
from headlight.app.choices import whole_number
from headlight.app.finding import Finding
from headlight.app.results import TranslationRequest
from headlight.app.widgets import Panel, show_figure, show_finding, show_panels
from headlight.plots.numbers import percent
from headlight.plots.tokens import quoted_at
from transformer.experiments.attention import RandomProducts, measure_random_products, softmax_jacobian_norm
from transformer.interpret.attention_block import Stages, undivided

from .steps import choose_block

_DIVIDED = (
    "The same queries and keys, without the division before softmax. A model trained without it might learn others."
)
_UNDIVIDED = (
    "The same queries and keys, with a division before softmax, which this model does not have. T5 begins its training "
    "with queries that are smaller by √d_k instead (Raffel et al. 2020)."
)
_LEAST = 0.01  # of a share: whole percents do not show less
_SATURATED = 1e-6  # a softmax's Jacobian below this is float32's rounding


def show(request: TranslationRequest) -> None:
    """Show this head with and without the division, then random vectors of every size. Raises UserError."""
    block = choose_block(request)
    stages = block.stages
    st.subheader("This head, with the division and without")
    rows = plots.without_scaling(stages, block.head, block.queries, theme="page")
    see = describe_head(stages, block.head, block.query_tokens)
    show_figure(rows, "largest_weights", "The largest weight of every query, with the division and without", see)
    st.caption(_DIVIDED if stages.is_divided else _UNDIVIDED)
    show_finding(see)
    st.subheader("Random vectors")
    seed = whole_number("Seed", 1, 99, "random_seed", "Of the random vectors, 1 to 99")
    spread = measure_random_products(seed)
    see = describe_random(spread)
    show_panels(
        "over d_k, with the division and without",
        Panel("Standard deviation of the scores", plots.score_deviation(spread, stages.d_k, theme="page")),
        Panel("What softmax makes of them", plots.largest_weight(spread, stages.d_k, theme="page")),
        see=see,
    )
    show_finding(
        see,
        "the heads of other layers: where products are small already, the division hardly matters.",
    )


def describe_head(stages: Stages, head: int, queries: tuple[str, ...]) -> Finding:
    """Return what the division does to this head: its weights, its products, and the gradient through its softmax."""
    weights = undivided(stages, head)
    without, divided = (part.max(axis=-1) for part in weights)
    unmasked, is_own = stages.unmasked[0], stages.is_divided
    products = stages.products[0, head][unmasked].std()
    if is_own:
        scores = (stages.scores[0, head] - stages.bias[head])[unmasked].std()
        more = f"The unmasked products have a standard deviation of {products:.2f}, the scores {scores:.2f}. "
    else:
        more = f"The unmasked products have a standard deviation of {products:.2f}. "
    steep, steep_divided = (softmax_jacobian_norm(part).sum() for part in weights)
    if steep_divided < _SATURATED:
        more += "Each row gives one key all of its weight, so softmax passes no gradient."
    else:
        share = percent(steep / steep_divided * np.sqrt(stages.d_k))
        what = "what it is" if is_own else "what it would be with it"
        more += (
            f"Without the division the gradient through softmax with respect to q·k (the sum of its Jacobian's "
            f"absolute entries) {'would be' if is_own else 'is'} {share} of {what}."
        )
    if without.mean() - divided.mean() < _LEAST:
        would = "hardly changes" if is_own else "would hardly change"
        own = divided if is_own else without
        return Finding(f"The division {would} the largest weight: {percent(own.mean())} on average.", more)
    most = int((without - divided).argmax())
    mean, mean_divided, low, high = map(percent, (without.mean(), divided.mean(), divided[most], without[most]))
    row = quoted_at(queries, most, "query")
    if not is_own:
        return Finding(
            f"Divided, one word would get {mean_divided}, not {mean}.",
            f"This model does not divide. The row of {row} would change most, from {high} to {low}. {more}",
        )
    return Finding(
        f"Undivided, one word would get {mean}, not {mean_divided}.",
        f"That is the mean of all rows. The row of {row} changes most, from {low} to {high}. {more}",
    )


def describe_random(spread: RandomProducts) -> Finding:
    """Return what the random vectors show, at the smallest and the largest size."""
    low, high = spread.sizes[0], spread.sizes[-1]
    mean = spread.gradient_scaled[-1] / spread.gradient[-1] / np.sqrt(high)
    return Finding(
        f"At d_k {high} one key gets {percent(spread.largest[-1])} undivided, {percent(spread.largest_scaled[-1])} "
        "divided.",
        f"The {spread.keys} keys' products have a standard deviation of {spread.products[-1]:.1f} (√{high} = "
        f"{np.sqrt(high):.1f}); at d_k {low} the largest weight is {percent(spread.largest_scaled[0])} either way. "
        f"With the division the gradient with respect to q·k is {spread.typical_ratio[-1]:,.2f} times as "
        f"large by the rows' median, and {mean:,.2f} times by their mean.",
    )
