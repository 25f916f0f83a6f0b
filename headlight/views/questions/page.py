"""The page of questions: each answered in words, with a figure of the loaded model."""

import streamlit as st

from headlight.app import results
from headlight.app.choices import from_list
from headlight.app.results import TranslationRequest, measures
from headlight.app.widgets import show_figure, show_finding

from .content import QUESTIONS, Asked


def show_page(request: TranslationRequest) -> None:
    """Show a question, its answer, a figure of the loaded model, and where to go on. Raises UserError."""
    st.markdown("What students wrote into their notebooks, each answered with the loaded model and your sentence.")
    by_text = {question.question: question for question in QUESTIONS}
    question = by_text[from_list("Question", list(by_text), "question", width="stretch")]
    asked = Asked(
        translator=results.translator(request.checkpoint),
        trace=results.trace(request),
        stream=results.residual_stream(request),
        scores=lambda: measures.stages(request, "encoder", 0)[0].scores[0, 0, 0].tolist(),
    )
    st.subheader(question.question)
    with st.container(key="answer"):  # it stays above the figure where the window is low
        st.markdown(question.answer)
    shown = question.show(asked)
    show_figure(shown.figure, f"question_{question.name}", shown.alt, shown.see)
    show_finding(shown.see)
    link = question.link
    st.page_link(link.page, label=link.label, icon=":material/arrow_forward:", query_params=dict(link.query))
