"""Embeddings: a token's vector and its nearest tokens."""

import streamlit as st

from headlight.app import results
from headlight.app.choices import choose_side, choose_token
from headlight.app.results import TranslationRequest
from headlight.app.widgets import plain, show_figure, show_finding, show_translation
from headlight.plots.architecture import neighbours_figure, sum_figure, sum_words
from headlight.plots.text import Finding, norm_name, quoted
from transformer.config import ModelConfig, Positions
from transformer.interpret.parameters import nearest


def show(request: TranslationRequest) -> None:
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


def describe_embedding(row: float, embedded: float, position: float, config: ModelConfig) -> Finding:
    """Say how long a token's row is, what the model makes of it, and the position's vector."""
    scaled = f"times √{config.d_model} it is {embedded:.2f}" if config.scale_embeddings else "it is not scaled"
    headline = f"The row is {row:.2f} long; {scaled}."
    if config.positions == Positions.NONE:
        return Finding(headline, "This model adds no positions.")
    if config.positions == Positions.RELATIVE:
        return Finding(headline, "This model adds no position to it: its order is a bias on the scores, by distance.")
    times = position / max(1e-9, embedded)
    added = f"The position's vector, which is added to that, is {position:.2f} long, {times:.2g} times as long."
    return Finding(headline, added)
