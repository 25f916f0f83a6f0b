"""Embeddings: the nearest tokens of a token of the sentence."""

import streamlit as st

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import choose_token
from headlight.app.finding import Finding, Templates
from headlight.app.results import TranslationRequest
from headlight.app.widgets import plain, show_result, show_translation
from headlight.plots.tokens import quoted, shown_token
from transformer.config import ModelConfig
from transformer.interpret.parameters import nearest

_NAMED = 4  # neighbours in the headline
TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest) -> None:
    """Show the tokens of the nearest embeddings. Raises UserError."""
    translator, trace = results.translator(request.checkpoint), show_translation(request)
    stack, token, tokens = choose_token(trace)
    is_source = stack == "encoder"
    token_id = (trace.source_ids if is_source else trace.decoder_input_ids)[token]
    embedding = translator.model.source_embedding if is_source else translator.model.target_embedding
    matrix = embedding.weight.detach().cpu().numpy()
    piece_text = translator.tokenizer.source_piece_text if is_source else translator.tokenizer.piece_text
    neighbours = nearest(matrix, token_id)
    finding = describe_neighbours(tokens[token], [piece_text(id) for id, _ in neighbours])
    alt = f"The tokens whose embeddings point most the way of {tokens[token]}, with cosines"
    show_result(plots.nearest_tokens(neighbours, piece_text, theme="page"), "neighbours", alt, finding)
    st.caption(
        plain(f"{quoted(tokens[token])} is row {token_id:,} of {len(matrix):,} in the embedding matrix")
        + f"{_sharing(translator.model.config, is_source=is_source)} Nothing but the training pairs taught the model "
        "which tokens are alike."
    )


def describe_neighbours(token: str, neighbours: list[str]) -> Finding:
    """Name the nearest tokens."""
    return TEMPLATES("nearest", token=token, neighbours=tuple(map(shown_token, neighbours[:_NAMED])))


def _sharing(config: ModelConfig, *, is_source: bool) -> str:
    if config.target_vocab_size:
        return "; each language has its own." if is_source else ", which the output shares."
    if config.separate_output:
        return ", which both languages share; the output has its own."
    return ", which both languages and the output share." if config.share_embeddings else "."
