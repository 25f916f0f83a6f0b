"""The views of the page on masks: the batch, its three masks, one head before and after, and the model without."""

import streamlit as st

from plots.heatmap import mask_figure
from plots.text import KIND_NAMES, head_name
from transformer.interpret.mask_ablation import MaskedHead, MaskedPass
from ui.widgets import phone_container, plain, show_table

from . import text as captions
from .figures import (
    leaking_figure,
    masked_scores_figure,
    masked_weights_figure,
    next_tokens_figure,
    scores_figure,
    weights_figure,
)
from .text import row_by_hand, row_words


def show_batch(run: MaskedPass) -> None:
    """The batch as the model reads it, padding hatched, and its shapes."""
    for name, sentences, lengths in (
        ("source", run.source_tokens, run.source_lengths),
        ("target fed", run.fed_tokens, run.target_lengths),
    ):
        width = range(len(sentences[0]))
        show_table(
            f"The batch, {name}: the tokens of both sentences, filled up with padding",
            name,
            [str(place + 1) for place in width],
            [(f"sentence {number}", tokens) for number, tokens in enumerate(sentences, start=1)],
            [[place >= length for place in width] for length in lengths],
        )
    st.caption(plain(f"Shapes: {captions.describe_shapes(run)}"))


def show_masks(run: MaskedPass, sentence: int) -> None:
    """The padding mask, the causal mask and both together for one sentence."""
    tokens = run.fed_tokens[sentence]
    causal = run.causal_mask
    padding = run.target_padding_mask[sentence, 0].repeat(len(tokens), axis=0)
    reasons = {"it is padding": ~padding, "it comes later": ~causal}
    st.caption(
        "The mask of the decoder's self-attention. Rows are queries, the tokens that read; columns are keys. A blue "
        "cell is open, an empty one is closed: its score becomes minus infinity, and softmax makes that exactly 0."
    )
    for column, title, why, cells in zip(
        st.columns(3),
        ("Padding mask", "Causal mask", "Both: the target mask"),
        (
            "Sentences of a batch differ in length; \\<pad> fills up the shorter ones and means nothing, so nothing "
            "may read it. One row, the same for every query.",
            "A row predicts the next token. In training the whole target is there at once: without this mask a row "
            "could read the answer. The same for every sentence.",
            "Open only where both are. This is what every head of the decoder's self-attention gets.",
        ),
        (padding, causal, run.target_mask[sentence, 0]),
        strict=True,
    ):
        with column:
            st.markdown(f"**{title}**")
            shown = {reason: closed for reason, closed in reasons.items() if not cells[closed].any()}
            st.plotly_chart(mask_figure(cells, tokens, shown), key=title, alt=f"{title} of sentence {sentence + 1}")
            st.caption(why)
    st.info(plain(captions.describe_masks(run, sentence)), icon=":material/search:")
    st.markdown("**Encoder self-attention and cross-attention** have the padding mask of the source, and no other.")
    st.caption(
        "The whole source is there before the first target token, so nothing in it is “later”. "
        + plain(captions.describe_source_mask(run, sentence))
    )
    st.info(
        "Try the first sentence as the second one too: no padding is left, and both masks together are the causal one. "
        "Then “one head”, to see the same cells vanish from real scores.",
        icon=":material/science:",
    )


def show_head(head: MaskedHead, rows: str) -> None:
    """Scores, masked scores and weights of one head, and one of its rows by hand."""
    name = f"{KIND_NAMES[head.kind]}, {head_name(head.layer, head.head, head.layers, head.heads)}"
    for column, title, why, figure in zip(
        st.columns(3),
        ("1. Scores", "2. After the mask", "3. After softmax"),
        (
            "Q K^T / √d_k, how well a key suits a query: any number, and cells that the mask will close have one too.",
            "Closed cells become minus infinity; the others stay as they are.",
            "exp of each score over the sum of its row: from 0 to 1, every row sums to 1, closed cells are exactly 0.",
        ),
        (scores_figure(head, rows), masked_scores_figure(head, rows), weights_figure(head, rows)),
        strict=True,
    ):
        with column:
            st.markdown(f"**{title}**")
            st.plotly_chart(figure, key=title, alt=f"{title} of {name}, sentence {head.sentence + 1}")
            st.caption(plain(why))
    st.info(plain(captions.describe_head(head)), icon=":material/search:")
    st.markdown("**One row by hand**")
    numbers = [str(row + 1) for row in range(len(head.fed))]
    chosen = st.selectbox(
        "Row, counted from the top", numbers, index=min(2, len(numbers) - 1), key="query", bind="query-params",
        width=220,
    )  # fmt: skip
    row = int(chosen) - 1
    lines = row_by_hand(head, row)
    show_table(f"Row {chosen} by hand", f"row {chosen}", head.keys, lines, [(~head.open[row]).tolist()] * len(lines))
    st.caption(plain(f"{row_words(head, row)} {captions.describe_check(head)}"))
    st.info(
        "Try the row of the first token in the decoder: a single cell is open, so its weight is 1 whatever its score. "
        "Then “without the mask”, where the model is run again with these cells open.",
        icon=":material/science:",
    )


def show_without(masked: MaskedPass, lifted: MaskedPass, head: MaskedHead, leaking: MaskedHead, rows: str) -> None:
    """One head with and without the mask, and what that does to the next tokens."""
    sentence = head.sentence
    padded = masked.source_lengths[sentence] < len(masked.source_tokens[sentence])
    if lifted.lifted == "padding" and not padded:
        st.info(plain(captions.describe_no_padding(masked, lifted, sentence)), icon=":material/search:")
    name = head_name(head.layer, head.head, head.layers, head.heads)
    for column, title, figure in zip(
        st.columns(2),
        ("With the mask", "Without: the model run again"),
        (masked_weights_figure(head, rows), leaking_figure(head, leaking, rows)),
        strict=True,
    ):
        with column, phone_container(len(head.keys), title):
            st.markdown(f"**{title}**")
            st.plotly_chart(figure, key=title, alt=f"{title}: {KIND_NAMES[head.kind]}, {name}")
    outlined = " Outlined is the token that the row is to predict." if head.kind == "decoder" else ""
    whence = (
        "so already the first layer of the decoder reads a memory made without the mask"
        if head.kind == "cross"
        else "so from the second layer on a head also reads changed vectors"
    )
    st.caption(
        "Rows of real tokens only. Orange cells are those that the mask closes; the last column is what leaks to them "
        f"in all.{outlined} The mask is lifted in every layer, {whence}."
    )
    leak = captions.describe_leak(masked, lifted, head)
    if leak:
        answer = captions.describe_answer(lifted, head) if lifted.lifted == "causal" else ""
        st.info(plain(f"{leak} {answer}"), icon=":material/search:")
    st.subheader("What it does to the next tokens")
    st.plotly_chart(
        next_tokens_figure(masked, lifted, sentence), key="next_tokens",
        alt=f"Probability of each next token of sentence {sentence + 1}, with the mask and without",
    )  # fmt: skip
    if lifted.lifted == "causal" or padded:
        st.info(plain(captions.describe_predictions(masked, lifted, sentence)), icon=":material/search:")
    if lifted.lifted == "padding" and padded:
        st.info(plain(captions.describe_reading_padding(masked, sentence)), icon=":material/science:")
    if lifted.lifted == "causal":
        st.info(plain(captions.describe_cheating(masked, lifted, sentence)), icon=":material/school:")
