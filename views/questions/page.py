"""All questions, and how one is shown."""

import streamlit as st

from ui.widgets import plain

from . import questions_attention, questions_model, questions_training
from .question import Asked, Question

QUESTIONS = (*questions_attention.QUESTIONS, *questions_model.QUESTIONS, *questions_training.QUESTIONS)


def show_question(question: Question, asked: Asked) -> None:
    """The question, its answer, a figure of the loaded model, and where to go on. Raises UserError."""
    st.subheader(question.question)
    st.markdown(question.answer)
    shown = question.show(asked)
    st.plotly_chart(shown.figure, key=f"question_{question.name}", alt=shown.alt)
    st.info(plain(shown.see), icon=":material/search:")
    st.page_link(question.page, label=question.link, icon=":material/arrow_forward:", query_params=dict(question.query))
