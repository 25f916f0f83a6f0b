"""The view on the division by the root of d_k."""

import streamlit as st

import headlight.plots as plots
from headlight.app.choices import whole_number
from headlight.app.results import TranslationRequest
from headlight.app.widgets import Panel, show_figure, show_finding, show_panels
from transformer.experiments.attention import measure_random_products

from .scaling_content import describe_head, describe_random
from .steps import choose_block

_DIVIDED = (
    "The same queries and keys; only the last division is left out before softmax. The model was trained with it, so "
    "this is what would happen to these weights, not what a model trained without it would do."
)
_UNDIVIDED = (
    "The same queries and keys; only a division is put in before softmax, which this model does not have. It was "
    "trained without: T5 instead begins its training with matrices that make queries smaller by √d_k, so that the "
    "first products spread no more than divided ones would (Raffel et al. 2020), and what it learned since may "
    "spread as it likes."
)


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
        "the heads of other layers: where the trained products are already small, the division hardly matters; at d_k "
        "1 it does nothing at all.",
    )
