"""The view on the division by the root of d_k."""

import streamlit as st

from transformer.experiments.dot_product_scaling import measure_random_products
from ui import choices
from ui.sidebar import Choice
from ui.widgets import plain

from .block import choose_block
from .scaling_figure import largest_figure, rows_figure, spread_figure
from .scaling_text import describe_head, describe_random, undivided


def show(choice: Choice) -> None:
    """This head with and without the division, then random vectors of every size. Raises UserError."""
    block = choose_block(choice)
    view, stages = block.view, block.stages
    st.subheader("This head, with the division and without")
    without, divided = undivided(stages, view.head)
    st.plotly_chart(
        rows_figure(without.max(axis=-1), divided.max(axis=-1), view.queries), key="rows",
        alt="The largest weight of every query, with the division and without",
    )  # fmt: skip
    st.caption(
        "The same queries and keys; only the last division is left out before softmax. The model was trained with it, "
        "so this is what would happen to these weights, not what a model trained without it would do."
    )
    st.info(plain(describe_head(stages, view.head, view.queries)), icon=":material/search:")
    st.subheader("Random vectors")
    seed = choices.whole_number("Seed", 1, 99, 1, "random_seed", "Of the random vectors, 1 to 99")
    spread = measure_random_products(seed)
    for column, name, figure in zip(
        st.columns(2),
        ("Spread of the scores", "What softmax makes of them"),
        (spread_figure(spread, stages.d_k), largest_figure(spread, stages.d_k)),
        strict=True,
    ):
        with column:
            st.markdown(f"**{name}**")
            st.plotly_chart(figure, key=name, alt=f"{name} over d_k, with the division and without")
    st.info(plain(describe_random(spread)), icon=":material/search:")
    st.info(
        "Try the heads of other layers: where the trained products are already small, the division hardly matters; and "
        "d_k 1, where it does nothing at all.",
        icon=":material/science:",
    )
