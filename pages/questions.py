"""Questions: what students wrote into their notebooks, answered with the loaded model."""

import streamlit as st

import session
from ui import sidebar
from views.questions.page import QUESTIONS, show_question
from views.questions.question import Asked

st.title("Questions")
choice = sidebar.taken_choice()
st.markdown("What students wrote into their notebooks, each answered with the loaded model and your sentence.")
by_text = {question.question: question for question in QUESTIONS}
chosen = st.selectbox("Question", list(by_text), key="question", bind="query-params")
with sidebar.messages():
    asked = Asked(
        choice,
        session.translator(choice.checkpoint),
        session.trace(choice.checkpoint, choice.text, choice.strategy),
        session.stream(choice.checkpoint, choice.text, choice.strategy),
    )
    show_question(by_text[chosen], asked)
