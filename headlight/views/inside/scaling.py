"""The view on the division by the root of d_k."""

import numpy as np
import streamlit as st

import headlight.plots as plots
from headlight.app.choices import whole_number
from headlight.app.finding import Finding, Templates, TokenAt
from headlight.app.results import TranslationRequest
from headlight.app.widgets import Panel, show_figure, show_finding, show_panels
from transformer.experiments.attention import RandomProducts, measure_random_products, softmax_jacobian_norm
from transformer.interpret.attention_block import Stages, undivided

from .steps import choose_block

TEMPLATES = Templates.beside(__file__)
_LEAST = 0.01  # of a share: whole percents do not show less
_SATURATED = 1e-6  # a softmax's Jacobian below this is float32's rounding


def show(request: TranslationRequest) -> None:
    """Show this head with and without the division, then random vectors of every size. Raises UserError."""
    block = choose_block(request)
    stages = block.stages
    st.subheader(TEMPLATES.text("this_head"))
    rows = plots.without_scaling(stages, block.head, block.queries, theme="page")
    see = describe_head(stages, block.head, block.queries)
    show_figure(rows, "largest_weights", TEMPLATES.text("alt_weights"), see)
    st.caption(TEMPLATES.text("same_divided" if stages.is_divided else "same_undivided"))
    show_finding(see)
    st.subheader(TEMPLATES.text("random_vectors"))
    spread = measure_random_products(whole_number("random_seed"))
    see = describe_random(spread)
    show_panels(
        TEMPLATES.text("alt_panels"),
        Panel(TEMPLATES.text("score_panel"), plots.score_deviation(spread, stages.d_k, theme="page")),
        Panel(TEMPLATES.text("weight_panel"), plots.largest_weight(spread, stages.d_k, theme="page")),
        see=see,
    )
    show_finding(see, TEMPLATES.text("attempt"))


def describe_head(stages: Stages, head: int, queries: tuple[str, ...]) -> Finding:
    """Return the effect of the division on a head: its weights, its products, and the gradient through its softmax."""
    weights, is_divided = undivided(stages, head), stages.is_divided
    without, divided = (part.max(axis=-1) for part in weights)
    details = [_deviations(stages, head), _gradient(weights, stages)]
    if without.mean() - divided.mean() < _LEAST:
        finding = TEMPLATES(
            "hardly_changes" if is_divided else "would_hardly_change", largest=_largest_of_model(weights, stages)
        )
        return finding.followed_by(*details)
    most = int((without - divided).argmax())
    means = {"without": without.mean(), "divided": divided.mean()}
    row = {"row": TokenAt(queries, most, "query"), "low": divided[most], "high": without[most]}
    finding = TEMPLATES("undivided" if is_divided else "divided", **means)
    return finding.followed_by(TEMPLATES("row_changes" if is_divided else "row_would_change", **row), *details)


def _largest_of_model(weights: tuple[np.ndarray, np.ndarray], stages: Stages) -> float:
    """Return the mean over rows of the largest weight in the model itself."""
    return float(weights[int(stages.is_divided)].max(axis=-1).mean())


def _deviations(stages: Stages, head: int) -> Finding:
    unmasked = stages.unmasked[0]
    products = stages.products[0, head][unmasked].std()
    if not stages.is_divided:
        return TEMPLATES("deviation", products=products)
    return TEMPLATES(
        "deviations", products=products, scores=(stages.scores[0, head] - stages.bias[head])[unmasked].std()
    )


def _gradient(weights: tuple[np.ndarray, np.ndarray], stages: Stages) -> Finding:
    steep, steep_divided = (softmax_jacobian_norm(part).sum() for part in weights)
    if steep_divided < _SATURATED:
        return TEMPLATES("no_gradient")
    name = "gradient" if stages.is_divided else "gradient_undivided"
    return TEMPLATES(name, gradient=steep / steep_divided * np.sqrt(stages.d_k))


def describe_random(spread: RandomProducts) -> Finding:
    """Return the numbers of random vectors at the smallest and the largest size."""
    low, high = spread.sizes[0], spread.sizes[-1]
    finding = TEMPLATES("random", high=high, undivided=spread.largest[-1], divided=spread.largest_scaled[-1])
    return finding.followed_by(
        TEMPLATES(
            "random_products",
            keys=spread.keys,
            deviation=spread.products[-1],
            high=high,
            root=np.sqrt(high),
            low=low,
            either=spread.largest_scaled[0],
            median=spread.typical_ratio[-1],
            mean=spread.gradient_scaled[-1] / spread.gradient[-1] / np.sqrt(high),
        )
    )
