"""The view of embeddings: piece, id, row, position, and the nearest pieces."""

import streamlit as st

import session
from plots.text import quoted
from transformer.interpret.parameters import nearest
from ui.selectors import choose_side, choose_token
from ui.sidebar import Choice, show_sentences
from ui.widgets import plain

from .embeddings_figure import neighbours_figure, sum_figure


def show(choice: Choice) -> None:
    """One token's way into the model. Raises UserError."""
    translator = session.translator(choice.checkpoint)
    trace = session.trace(choice.checkpoint, choice.text, choice.strategy)
    stream = session.stream(choice.checkpoint, choice.text, choice.strategy)
    show_sentences(translator, trace)
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
    st.plotly_chart(
        sum_figure(matrix[id], side.embedded[token], side.start[token] - side.embedded[token], side.start[token]),
        key="embedding", alt=f"The row of {tokens[token]}, scaled, its position, and their sum",
    )  # fmt: skip
    lengths = [
        float((vector**2).sum() ** 0.5)
        for vector in (matrix[id], side.embedded[token], side.start[token] - side.embedded[token])
    ]
    st.info(
        plain(
            f"The row is {lengths[0]:.2f} long; times √{model.config.d_model} it is {lengths[1]:.2f}. The position's "
            f"vector is {lengths[2]:.2f} long: without the factor it would be {lengths[2] / max(lengths[0], 1e-9):.1f} "
            "times as long as the word's own."
        ),
        icon=":material/search:",
    )
    st.subheader("Nearest pieces")
    found = nearest(matrix, id)
    st.plotly_chart(
        neighbours_figure(found, translator.tokenizer.piece_text), key="neighbours",
        alt=f"The pieces whose rows point most the way of {tokens[token]}, with cosines",
    )  # fmt: skip
    st.caption("Cosine between rows of the matrix. What is near was learned from the training pairs alone.")
