"""The view of embeddings: piece, id, row, position, and the nearest pieces."""

import streamlit as st

import session
from plots.text import quoted
from session import Choice
from transformer.interpret.parameters import nearest
from ui.selectors import choose_side, choose_token
from ui.sentences import show_sentences
from ui.widgets import plain, show_finding

from .embeddings_figure import neighbours_figure, sum_figure


def show(choice: Choice) -> None:
    """One token's way into the model. Raises UserError."""
    translator = session.translator(choice.checkpoint)
    trace = session.trace(choice)
    stream = session.residual_stream(choice)
    show_sentences(choice)
    stack = choose_side()
    token, tokens = choose_token(trace, stack)
    id = (trace.source_ids if stack == "encoder" else trace.fed_ids)[token]
    model, side = translator.model, getattr(stream, stack)
    embedding = model.source_embedding if stack == "encoder" else model.target_embedding
    matrix = embedding.weight.detach().cpu().numpy()
    st.markdown(
        plain(f"{quoted(tokens[token])} is piece {id} of {len(matrix):,}: row {id} of the matrix")
        + (", which both languages and the output share." if model.config.share_embeddings else ".")
    )
    parts = matrix[id], side.embedded[token], side.start[token] - side.embedded[token]
    st.plotly_chart(
        sum_figure(*parts, side.start[token]),
        key="embedding",
        alt=f"The row of {tokens[token]}, scaled, its position, and their sum",
    )
    row, scaled, position = (float((vector**2).sum() ** 0.5) for vector in parts)
    show_finding(
        f"The row is {row:.2f} long; times √{model.config.d_model} it is {scaled:.2f}. The position's vector is "
        f"{position:.2f} long: without the factor it would be {position / max(row, 1e-9):.1f} times as long as the "
        "word's own."
    )
    st.subheader("Nearest pieces")
    found = nearest(matrix, id)
    st.plotly_chart(
        neighbours_figure(found, translator.tokenizer.piece_text),
        key="neighbours",
        alt=f"The pieces whose rows point most the way of {tokens[token]}, with cosines",
    )
    st.caption("Cosine between rows of the matrix. What is near was learned from the training pairs alone.")
