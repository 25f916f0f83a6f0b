"""The view on where LayerNorm stands, and what that does to gradients."""

import streamlit as st

import session
from transformer.config import NORMS
from ui import choices
from ui.sidebar import Choice
from ui.widgets import plain

from .norm_placement_figure import gradients_figure
from .text import describe_gradients


def show(choice: Choice) -> None:
    """Both orders as formulas, then gradient norms of new models. Raises UserError."""
    config = session.translator(choice.checkpoint).model.config
    for column, name, formula, words in zip(
        st.columns(2),
        ("Post-norm: the paper's", "Pre-norm"),
        (
            r"x \leftarrow \text{LayerNorm}(x + \text{Sublayer}(x))",
            r"x \leftarrow x + \text{Sublayer}(\text{LayerNorm}(x))",
        ),
        (
            "LayerNorm stands on the way itself: after every sub-layer all vectors have the same spread again.",
            "LayerNorm stands before the sub-layer, beside the way: vectors grow, and a last one ends each stack.",
        ),
        strict=True,
    ):
        with column:
            st.markdown(f"**{name}**" + (" (this checkpoint)" if name.lower().startswith(config.norm) else ""))
            st.latex(formula)
            st.markdown(words)
    st.subheader("Gradients before the first step")
    with st.container(horizontal=True, gap="medium"):
        layers = int(choices.one_of("Layers a side", ("3", "6", "12"), "norm_layers", start="6"))
        seed = st.slider("Seed", 1, 20, 1, key="norm_seed", bind="query-params", width=200)
    measured = session.gradients(choice.checkpoint, layers, seed)
    for column, stack in zip(st.columns(2), ("encoder", "decoder"), strict=True):
        with column:
            st.markdown(f"**{stack.capitalize()}**")
            st.plotly_chart(
                gradients_figure(measured, stack), key=f"gradients_{stack}",
                alt=f"Gradient norm of every {stack} layer's W_2, pre-norm and post-norm",
            )  # fmt: skip
    st.caption(
        f"Two new models in this checkpoint's width, with the same random matrices; {session.PAIRS_FOR_GRADIENTS} of "
        "its sentence pairs, one pass forward and one back, measured just now: the norm of the loss's gradient with "
        f"respect to W₂ of each feed-forward. The losses are {measured[0].loss:.2f} ({NORMS[0]}-norm) and "
        f"{measured[1].loss:.2f} ({NORMS[1]}-norm) nats a token."
    )
    st.info(plain(describe_gradients(measured)), icon=":material/search:")
    st.info(
        "Try 12 layers, and then the knob “norm” on the page Training, where both learn side by side.",
        icon=":material/science:",
    )
