"""The view on where LayerNorm stands, and what that does to gradients."""

import streamlit as st

import session
from session import Choice
from transformer.config import Norm
from ui.choices import one_of, slider
from ui.widgets import Panel, show_attempt, show_finding, show_panels

from .norm_placement_figure import gradients_figure
from .text import describe_gradients

# Of each placement: its title, its formula, and what it means.
_POST = (
    "Post-norm: the paper's",
    r"x \leftarrow \text{LayerNorm}(x + \text{Sublayer}(x))",
    "LayerNorm stands on the residual connection: after every sub-layer all vectors have the same standard deviation "
    "again.",
)
_PRE = (
    "Pre-norm",
    r"x \leftarrow x + \text{Sublayer}(\text{LayerNorm}(x))",
    "LayerNorm stands before the sub-layer, beside the residual connection: vectors grow, and a last one ends each "
    "stack.",
)


def show(choice: Choice) -> None:
    """Both placements as formulas, then gradient norms of new models. Raises UserError."""
    config = session.translator(choice.checkpoint).model.config
    for column, (title, formula, meaning) in zip(st.columns(2), (_POST, _PRE), strict=True):
        with column:
            st.markdown(f"**{title}**" + (" (this checkpoint)" if title.lower().startswith(config.norm) else ""))
            st.latex(formula)
            st.markdown(meaning)
    st.subheader("Gradients before the first step")
    with st.container(horizontal=True, gap="medium"):
        layers = int(one_of("Layers a side", ("3", "6", "12"), "norm_layers"))
        seed = slider("Seed", 1, 20, "norm_seed", width=200)
    measured = session.gradients(choice.checkpoint, layers, seed)
    show_panels(
        "gradient norm of every layer's W_2, pre-norm and post-norm",
        *(Panel(stack.capitalize(), gradients_figure(measured, stack)) for stack in ("encoder", "decoder")),
    )
    st.caption(
        f"Two new models in this checkpoint's width, with the same random matrices; {session.PAIRS_FOR_GRADIENTS} of "
        "its sentence pairs, one pass forward and one back, measured just now: the norm of the loss's gradient with "
        f"respect to W₂ of each feed-forward. The losses are {measured[0].loss:.2f} ({Norm.POST}-norm) and "
        f"{measured[1].loss:.2f} ({Norm.PRE}-norm) nats a token."
    )
    show_finding(describe_gradients(measured))
    show_attempt(
        "Try 12 layers, and then “compare runs” with the hyperparameter “norm” on the page Training, where both learn "
        "side by side."
    )
