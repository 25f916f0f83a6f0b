"""The trajectory of one token's vector through its stack."""

import streamlit as st

from headlight.app import results
from headlight.app.choices import choose_side, choose_token
from headlight.app.results import TranslationRequest
from headlight.app.widgets import plain, show_figure, show_finding, show_translation
from headlight.plots.architecture import (
    trajectory_figure,
)
from headlight.plots.text import norm_name
from headlight.views.inside.architecture_content import (
    describe_trajectory,
)
from transformer.interpret.residual import trajectory


def show(request: TranslationRequest) -> None:
    """Show one token's vector after every sub-layer of its stack: lengths and directions. Raises UserError."""
    stream = results.residual_stream(request)
    show_translation(request)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        stack = choose_side()
        token, tokens = choose_token(results.trace(request), stack)
    st.markdown(plain(f"Token {token + 1}: “{tokens[token]}”") + ", from its embedding to the end of the stack.")
    followed = trajectory(getattr(stream, stack), token)
    alt = f"Norm and direction of the vector of {tokens[token]} after every sub-layer"
    see = describe_trajectory(followed, tokens[token])
    norm = norm_name(results.translator(request.checkpoint).model.config)
    show_figure(trajectory_figure(followed, norm), "trajectory", alt, see)
    show_finding(
        see,
        "a full stop or the end of sentence beside a noun: which do the sub-layers change more? And a checkpoint with "
        "pre-norm (reverse): its vectors' norms may grow up to the norm layer at the stack's end.",
    )
