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
    alt = TEMPLATES.text("alt", token=tokens[token])
    show_result(plots.nearest_tokens(neighbours, piece_text, theme="page"), "neighbours", alt, finding)
    row = {"token": plain(quoted(tokens[token])), "row": token_id, "rows": len(matrix)}
    sharing = TEMPLATES(_sharing(translator.model.config, is_source=is_source))
    st.caption(TEMPLATES.text("caption", **row, sharing=sharing))


def describe_neighbours(token: str, neighbours: list[str]) -> Finding:
    """Name the nearest tokens."""
    return TEMPLATES("nearest", token=token, neighbours=tuple(map(shown_token, neighbours[:_NAMED])))


def _sharing(config: ModelConfig, *, is_source: bool) -> str:
    """Return the name of the text on the sharing of the matrix."""
    if config.target_vocab_size:
        return "each_own" if is_source else "output_shares"
    if config.separate_output:
        return "output_own"
    return "all_share" if config.share_embeddings else "end"
