"""The page on architecture: the diagram, a token's way through a stack, feed-forward units, where LayerNorm stands."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from headlight.app import results, url_state
from headlight.app.choices import choose_side, choose_token, one_number, one_of, show_views, slider
from headlight.app.line import part_by_part
from headlight.app.results import CheckpointFiles, TranslationRequest, measures
from headlight.app.widgets import (
    Panel,
    offer_table,
    plain,
    show_figure,
    show_finding,
    show_panels,
    show_table,
    show_translation,
)
from headlight.components.show import architecture_diagram
from headlight.plots.architecture import (
    ACTIVATION_NAMES,
    gradients_figure,
    neighbours_figure,
    sentence_figure,
    signed_units_figure,
    sum_figure,
    sum_words,
    trajectory_figure,
    units_figure,
)
from headlight.plots.text import norm_name, pluralize, quoted, signed, token_cells
from transformer.config import FeedForwardType, Norm
from transformer.interpret.parameters import Block, blocks_of, nearest, parameter_rows
from transformer.interpret.residual import trajectory
from transformer.interpret.trace import Trace

from .content import (
    ACTIVATIONS,
    BlockText,
    block_text,
    describe_embedding,
    describe_gates,
    describe_gradients,
    describe_trajectory,
    describe_units,
    diagram_payload,
    share_words,
    statistics,
)

# Of each placement of LayerNorm: its title, its formula, and what it means.
_PLACEMENTS = (
    (
        "Post-norm: the paper's",
        r"x \leftarrow \text{LayerNorm}(x + \text{Sublayer}(x))",
        "LayerNorm stands on the residual connection: after every sub-layer it normalises the vectors again.",
    ),
    (
        "Pre-norm",
        r"x \leftarrow x + \text{Sublayer}(\text{LayerNorm}(x))",
        "LayerNorm stands before the sub-layer, beside the residual connection: vectors grow, one more ends the stack.",
    ),
)


def _show_diagram(request: TranslationRequest) -> None:
    """Show the paper's figure for this checkpoint, the chosen block, and all parameters. Raises UserError."""
    translator = results.translator(request.checkpoint)
    trace = show_translation(request)
    blocks = blocks_of(translator.model, results.residual_stream(request))
    by_name = {block.name: block for block in blocks}
    chosen = by_name.get(url_state.read("block"), by_name[str(url_state.PARAMETERS["block"].default)])
    config = translator.model.config
    diagram, details = st.columns([11, 10], gap="large")
    with diagram:
        payload = diagram_payload(blocks, config, "source tokens", "target tokens, shifted right")
        architecture_diagram(payload, chosen.name, "diagram", lambda name: url_state.write("block", name))
        st.caption(
            f"{pluralize(config.num_encoder_layers, 'encoder layer')} and "
            f"{pluralize(config.num_decoder_layers, 'decoder layer')}, {config.norm}-norm, from the bottom to the top "
            "as in the paper's figure 1. Under a block's name: its parameters and their share of all. **Choose a "
            "block**, and another layer by its number."
        )
    with details:
        _show_block(chosen, block_text(chosen.kind, config), sum(block.parameters for block in blocks), trace)
    st.subheader("All parameters")
    _show_parameters(request.checkpoint)


def _show_block(block: Block, text: BlockText, total: int, trace: Trace) -> None:
    where = "" if block.layer is None else f", {block.stack} layer {block.layer + 1}"
    st.subheader(f"{text.title}{where}")
    st.latex(text.formula)
    st.markdown(f"{text.meaning} *{text.source}.*")
    share = share_words(block, total) or "none"
    st.markdown(f"**Parameters:** {plain(share)}{' of all parameters' * share.endswith('%')}")
    tokens = trace.source_tokens if block.stack == "encoder" else trace.decoder_input_tokens
    shapes = [f"{len(tokens)} ids" if block.before is None else _sizes(block.before.shape), _sizes(block.after.shape)]
    st.markdown(plain(f"Here: {shapes[0]} in, {shapes[1]} out (batch 1)."))
    rows = []
    for name, array in (("in", block.before), ("out", block.after)):
        if array is not None:
            values = statistics(array)
            rows += [
                (f"{name}: {what}", [signed(number, 2 if abs(number) >= 0.005 else 4) for number in line])
                for what, line in zip(("mean", "std. dev.", "norm"), values, strict=True)
            ]
    show_table(f"What goes in and comes out of {text.title}, token by token", "token", token_cells(tokens), rows)
    if block.kind == "softmax":
        st.caption("Columns are the decoder's steps, each a distribution over the vocabulary with mean 1 / V.")


def _sizes(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _show_parameters(checkpoint: CheckpointFiles) -> None:
    summary, frame = _parameters(checkpoint)
    st.markdown(summary)
    formats = {"values": "localized", "share": "percent"}
    shown = {name: st.column_config.NumberColumn(format=form) for name, form in formats.items()}
    with st.container(key="parameters"):
        st.dataframe(frame, hide_index=True, height=320, column_config=shown)
    offer_table("Download as CSV", lambda: frame, "parameters.csv")


@lru_cache(maxsize=8)  # the same for every sentence
def _parameters(checkpoint: CheckpointFiles) -> tuple[str, pd.DataFrame]:
    """Return how many parameters there are, in words, and the table of all."""
    rows = parameter_rows(results.translator(checkpoint).model)
    total = sum(row.count for row in rows)
    columns = ["parameter", "shape", "values", "share", "shared with"]
    cells = [(row.name, _sizes(row.shape), row.count, row.count / total, row.shared_with or "") for row in rows]
    tensors = pluralize(sum(row.count > 0 for row in rows), "tensor")
    return f"{total:,} values in {tensors}, as the file names them.", pd.DataFrame(cells, columns=columns)


def _show_trajectory(request: TranslationRequest) -> None:
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


def _show_embeddings(request: TranslationRequest) -> None:
    """Show one token's way into the model: id, row, position, and the nearest tokens. Raises UserError."""
    translator, trace = results.translator(request.checkpoint), show_translation(request)
    stream = results.residual_stream(request)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        stack = choose_side()
        token, tokens = choose_token(trace, stack)
    token_id = (trace.source_ids if stack == "encoder" else trace.decoder_input_ids)[token]
    model, side = translator.model, getattr(stream, stack)
    embedding = model.source_embedding if stack == "encoder" else model.target_embedding
    matrix = embedding.weight.detach().cpu().numpy()
    piece_text = translator.tokenizer.source_piece_text if stack == "encoder" else translator.tokenizer.piece_text
    shared = ", which both languages and the output share." if model.config.share_embeddings else "."
    if model.config.separate_output:
        shared = ", which both languages share; the output has a matrix of its own."
    if model.config.target_vocab_size:
        shared = "; each language has a matrix of its own." if stack == "encoder" else ", which the output shares."
    st.markdown(
        plain(f"{quoted(tokens[token])} has the id {token_id} of {len(matrix):,}: row {token_id} of the matrix")
        + shared
    )
    parts = matrix[token_id], side.embedded[token], side.summed[token] - side.embedded[token]
    alt = f"The row of {tokens[token]}, scaled, its position, and their sum"
    row, embedded, position = (float((vector**2).sum() ** 0.5) for vector in parts)
    see = describe_embedding(row, embedded, position, model.config)
    show_figure(sum_figure(*parts, side.summed[token], *sum_words(model.config)), "embedding", alt, see)
    show_finding(see)
    if model.config.embedding_norm:
        st.caption(
            f"In this model a {norm_name(model.config)} follows: what it makes of the sum enters the first layer."
        )
    st.subheader("Nearest tokens")
    neighbours = neighbours_figure(nearest(matrix, token_id), piece_text)
    alt = f"The tokens whose rows point most the way of {tokens[token]}, with cosines"
    show_figure(neighbours, "neighbours", alt)
    st.caption("Cosine between rows of the matrix. What is near was learned from the training pairs alone.")


def _show_feed_forward(request: TranslationRequest) -> None:
    """Show hidden units of a feed-forward: one token's, and the whole sentence's. Raises UserError."""
    model, trace = results.translator(request.checkpoint).model, show_translation(request)
    with st.container(horizontal=True, gap="medium"):
        stack = choose_side()
        layer = one_number("Layer", len(getattr(model, stack)), "unit_layer") - 1
    token, tokens = choose_token(trace, stack)
    if model.config.feed_forward == FeedForwardType.GATED:
        _show_gates(request, stack, layer, token)
        return
    units = results.hidden_units(request, stack, layer)
    sizes = f"{model.config.d_model} numbers to {units.shape[1]:,}"
    name, does = (words[model.config.activation] for words in (ACTIVATION_NAMES, ACTIVATIONS))
    st.markdown(plain(f"Each token alone goes from {sizes}; {name} {does}; then back."))
    st.subheader(plain(f"The strongest units for “{tokens[token]}”"))
    alt = f"The strongest hidden units for {tokens[token]} after {name}"
    see = describe_units(units, token, tokens, name)
    show_figure(units_figure(units[token], name), "units", alt, see)
    show_finding(see)
    st.subheader("Which units fire across the sentence")
    alt = "The units that fire most, tokens by units"
    show_figure(sentence_figure(units, tokens), "sentence_units", alt)
    blank = "that ReLU silenced" if name == "ReLU" else "not above 0"
    st.caption(f"Rows are tokens, columns the units with the largest sum; a blank cell is a unit {blank}.")


def _show_gates(request: TranslationRequest, stack: str, layer: int, token: int) -> None:
    """Show the hidden units of a gated feed-forward, each the product of a gate and a number."""
    config, trace = results.translator(request.checkpoint).model.config, results.trace(request)
    tokens = trace.source_tokens if stack == "encoder" else trace.decoder_input_tokens
    gates, values = results.gates(request, stack, layer)
    units, name = gates * values, ACTIVATION_NAMES[config.activation]
    st.markdown(
        plain(
            f"Each token alone goes from {config.d_model} numbers to {units.shape[1]:,} by two maps. Of the first "
            f"one's numbers {name} {ACTIVATIONS[config.activation]}: these are the gates. Each is multiplied with its "
            "number of the second map, and a third map brings the products back."
        )
    )
    st.subheader(plain(f"The strongest units for “{tokens[token]}”"))
    see = describe_gates((gates, values), token, tokens, name)
    alt = f"The strongest hidden units for {tokens[token]}, gate times second map"
    show_figure(units_figure(units[token], parts=(gates[token], values[token])), "units", alt, see)
    show_finding(see, "the same unit for another token: is it the gate that changes, or the second map?")
    st.subheader("Which units are strong across the sentence")
    show_figure(signed_units_figure(units, tokens), "sentence_units", "The strongest units, tokens by units")
    st.caption("Rows are tokens, columns the units with the largest sum of absolute values: teal above 0, brown below.")


def _show_norm_placement(request: TranslationRequest) -> None:
    """Show both placements as formulas, then gradient norms of new models. Raises UserError."""
    config = results.translator(request.checkpoint).model.config
    norm = norm_name(config)
    for column, (title, formula, meaning) in zip(st.columns(2), _PLACEMENTS, strict=True):
        with column:
            st.markdown(f"**{title}**" + (" (this checkpoint)" if title.lower().startswith(config.norm) else ""))
            st.latex(formula.replace("LayerNorm", norm))
            st.markdown(meaning.replace("LayerNorm", norm))
    st.subheader("Gradients before the first step")
    with st.container(horizontal=True, gap="medium"):
        layers = int(one_of("Layers a side", ("3", "6", "12"), "norm_layers"))
        seed = slider("Seed", 1, 20, "norm_seed", width=200)
    measured = part_by_part(
        tuple(Norm),
        lambda norm: measures.gradients(request.checkpoint, layers, seed, norm),
        "Going back through both …",
    )
    see = describe_gradients(measured)
    show_panels(
        "gradient norm of every layer's W_2, pre-norm and post-norm",
        *(Panel(stack.capitalize(), gradients_figure(measured, stack)) for stack in ("encoder", "decoder")),
        see=see,
    )
    st.caption(
        f"Two new models in this checkpoint's width with the same random matrices, {measures.PAIRS_FOR_GRADIENTS} of "
        "its sentence pairs, measured just now: the norm of the loss's gradient with respect to W₂ of each "
        f"feed-forward. Losses: {measured[0].loss:.2f} ({Norm.POST}-norm) and {measured[1].loss:.2f} ({Norm.PRE}-norm) "
        "nats a token."
    )
    show_finding(see, "12 layers, then “compare runs” with “norm” on the page Training: both learn side by side.")


VIEWS = {
    "diagram": _show_diagram,
    "trajectory": _show_trajectory,
    "embeddings": _show_embeddings,
    "feed-forward": _show_feed_forward,
    "pre-norm and post-norm": _show_norm_placement,
}


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    show_views(VIEWS, "architecture", request)
