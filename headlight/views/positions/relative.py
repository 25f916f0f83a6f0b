"""The view on relative positions: a bias on the scores by distance, as T5 has it, in place of an added position."""

import streamlit as st

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import choose_side, one_number, one_of
from headlight.app.finding import Finding
from headlight.app.results import TranslationRequest, measures
from headlight.app.widgets import plain, show_figure, show_finding, show_translation
from headlight.plots.relative_positions import MOST_TOKENS
from transformer.config import ModelConfig
from transformer.interpret.relative_positions import RelativeBias, relative_bias
from transformer.model.names import Stack

from . import relative_content as content

_WAYS = {Stack.ENCODER: "both ways", Stack.DECODER: "one way: later tokens are masked"}


def show(request: TranslationRequest) -> None:
    """Show each head's bias over distance, and between the tokens of the reader's sentence. Raises UserError."""
    model = results.translator(request.checkpoint).model
    st.markdown(content.WHY)
    with st.container():  # where a phone shows a figure before what is said of it, this stays with the words above
        _show_formula(model.config)
    biases = {stack: relative_bias(model, stack) for stack in Stack}
    with st.container(horizontal=True, gap="medium"):
        side = Stack(choose_side())
        head = one_number("Head", model.config.num_heads, "bias_head") - 1
        reach = one_of("Distances", content.REACHES, "bias_reach")
    see = content.describe_head(biases[side], side, head)
    for column, (stack, bias) in zip(st.columns(2, gap="medium"), biases.items(), strict=True):
        with column:
            st.markdown(f"**{stack.capitalize()}**, {_WAYS[stack]}")
            most = model.config.max_length - 1
            far = min(most, 3 * model.config.relative_distance // 2 if reach == "all" else int(reach))
            alt = f"Curves of the bias of each head of the {stack} over distance"
            told = see if stack == side else content.describe_head(bias, stack, head)
            show_figure(plots.bias_curves(bias, head, far, theme="page"), f"bias_{stack}", alt, told)
            st.caption(plain(content.describe_buckets(model.config, bias)))
    show_finding(see, "another head: which of them look to a neighbour, and do any look far away?")
    st.markdown(content.LOOK_FOR)
    st.caption(content.CROSS)
    _show_sentence(request, biases[side], side, head)


def _show_formula(config: ModelConfig) -> None:
    products = r"\frac{q_i \cdot k_j}{\sqrt{d_k}}" if config.scale_scores else r"q_i \cdot k_j"
    st.latex(rf"\text{{score}}_{{ij}} = {products} + b_{{\text{{head}},\; \text{{bucket}}(j - i)}}")


def _show_sentence(request: TranslationRequest, bias: RelativeBias, side: Stack, head: int) -> None:
    """Show the bias on the reader's sentence where it stands, and where there is room, later. Raises UserError."""
    st.subheader("On your sentence, and moved to later positions")
    trace = show_translation(request)
    tokens = trace.source_tokens if side == Stack.ENCODER else trace.decoder_input_tokens
    shown = tokens[:MOST_TOKENS]
    if len(shown) < len(tokens):
        st.caption(f"The first {MOST_TOKENS} of {len(tokens)} tokens; beyond them the same diagonals continue.")
    limit = float(abs(bias.numbers[head]).max()) or 1.0
    moved = measures.moved_sentence(request, content.PLACES)
    see, places = Finding("The sentence fills all positions: there is no room to move it."), [0]
    if moved:
        see, places = content.describe_moved(moved), [0, moved.places]
    for column, first in zip(st.columns(2, gap="medium"), places, strict=False):
        with column:
            st.markdown(f"**Positions {first} to {first + len(shown) - 1}**")
            alt = f"Map of the bias of head {head + 1} of the {side}, the first token at position {first}"
            show_figure(plots.bias_map(bias, head, tokens, first, limit, theme="page"), f"bias_map_{first}", alt, see)
    show_finding(see, "“Inside attention” writes this sum out for any query and key, in the step before the mask.")
