"""The page of lessons: one to begin with, and what a teacher needs of each."""

from functools import partial

import streamlit as st

from headlight.app import bar
from headlight.app.choices import from_list, show_views
from headlight.app.results import TranslationRequest
from headlight.app.widgets import offer_download, plain, show_table

from . import panel
from .file import Lesson
from .overview import overview
from .teach.summary import show_class
from .worksheet import worksheet

LESSONS, TEACHER = "lessons", "for the teacher"
TEACH = "Teach this lesson to a class"


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    show_views(VIEWS, "lessons", request)


def show_lessons(request: TranslationRequest) -> None:
    """Show a card for each lesson, in their order."""
    bar.hide_sentence()
    found, problems = panel.lessons()
    st.markdown("Predict, then look. What is right is measured on the model and the sentence that you choose.")
    numbered = list(enumerate(found, start=1))
    for row in range(0, len(numbered), 2):
        for column, (number, lesson) in zip(st.columns(2), numbered[row : row + 2], strict=False):
            with column:
                _show_card(number, lesson)
    for problem in problems:
        st.warning(plain(problem), icon=":material/edit:")


def _show_card(number: int, lesson: Lesson) -> None:
    asked = [step for step, each in enumerate(lesson.steps, start=1) if each.is_question]
    left = [step for step in asked if step not in panel.answered(lesson.name)]
    done = len(asked) - len(left)
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"lesson_card_{lesson.name}"):
        with st.container(gap=None):
            st.markdown(f"**{number}. {plain(lesson.title)}**")
            st.caption(plain(lesson.goal))
        with st.container(width=132, gap="xsmall"):
            label, step = ("Go on", left[0] - 1) if done and left else ("Again" if done else "Begin", 0)
            st.button(
                label,
                key=f"begin_{lesson.name}",
                help=f"{label}: {plain(lesson.title)}",
                on_click=panel.begin,
                args=(lesson.name, step),
                width="stretch",
            )
            dots = "●" * done + "○" * len(left)
            st.caption(f"{lesson.minutes} min {dots}", help=f"{done} of {len(asked)} questions answered")
        st.button(
            "",
            key=f"teach_{lesson.name}",
            icon=":material/groups:",
            type="tertiary",
            help=f"{TEACH}: {plain(lesson.title)}",
            on_click=panel.teach,
            args=(lesson.name,),
        )


def show_teacher(request: TranslationRequest) -> None:
    """Show a lesson's goal, its steps and what is right for this checkpoint and sentence, and its worksheets."""
    found, _ = panel.lessons()
    titles = {lesson.title: lesson for lesson in found}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        lesson = titles[from_list("Lesson", list(titles), "lesson_told", width=420)]
        st.button("Begin", key="begin_told", on_click=panel.begin, args=(lesson.name,))
        st.button(
            "Teach a class",
            key="teach_told",
            help=TEACH,
            icon=":material/groups:",
            on_click=panel.teach,
            args=(lesson.name,),
        )
        steps = overview(lesson, request)
        for label, answers in (("Worksheet", False), ("Worksheet with answers", True)):
            page = worksheet(lesson, steps, answers=answers)
            offer_download(
                label, partial(str.encode, page), f"{lesson.name}{'_answers' if answers else ''}.html", "text/html"
            )
    st.markdown(f"{plain(lesson.goal)} **{lesson.minutes} minutes.**")
    rows = [(str(step.number), (step.page, step.sentence, step.question, step.answer)) for step in steps]
    with st.container(key="lesson_told_steps"):
        show_table("The steps of this lesson", "step", ("page", "sentence", "question or text", "what is right"), rows)


VIEWS = {LESSONS: show_lessons, TEACHER: show_teacher, panel.CLASS: show_class}
