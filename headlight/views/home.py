"""The first page: the translation of the visitor's sentence, what one head attends to in it, and where to go on."""

import streamlit as st

from headlight.app import bar, results
from headlight.app.results import TranslationRequest
from headlight.app.widgets import show_translation
from headlight.components.show import token_lines
from headlight.views.translate.content import lines_payload
from transformer.interpret.trace import attention_map

# What an example shows, as a title, and its sentence.
LESSONS = {
    "Where does the verb go?": "I think that he has never read this book.",
    "One word or several?": "He bought a ticket at the train station.",
    "What is “it”?": "The dog didn't eat because it was too old.",
}
# Where to go on: a page, and what is to be seen there.
WAYS = (
    (
        "pages/decoding.py",
        "See it translate",
        "Token by token: the candidates, their probabilities, and what if another.",
    ),
    ("pages/architecture.py", "How it works", "Every block with its formula, its shapes and the real numbers inside."),
    ("pages/training.py", "How it learns", "Train a small one in twenty seconds and watch its attention take shape."),
)


def show_page(request: TranslationRequest) -> None:
    """Show the figure, three examples, three ways on. Raises UserError."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="lessons"):
        for number, (title, sentence) in enumerate(LESSONS.items()):
            st.button(title, key=f"lesson_{number}", on_click=bar.take_sentence, args=(sentence,), type="tertiary")
    trace = show_translation(request)
    shown = attention_map(trace, "cross", *results.default_head(request, "cross"))
    with st.container(key="home_lines"):
        token_lines(lines_payload(trace, shown, apart=170), "token_lines")
    for column, (page, title, words) in zip(st.columns(len(WAYS)), WAYS, strict=True):
        with column.container(border=True, gap="xxsmall"):
            st.page_link(page, label=f"**{title}**", icon=":material/arrow_forward:")
            st.caption(words)
