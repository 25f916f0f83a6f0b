"""The page Lessons: a card for each, a lesson for its teacher, and a class."""

from functools import partial
from typing import Literal

import streamlit as st

from headlight.app import bar
from headlight.app.choices import from_list, show_views
from headlight.app.results import TranslationRequest
from headlight.app.widgets import offer_download, plain, show_table

from . import panel
from .file import Lesson
from .overview import about_words, overview
from .sentence import reason_words
from .teach.desk import CLASS
from .teach.summary import show_class
from .worksheet import worksheet

LESSONS, TEACHER = "lessons", "for the teacher"


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    show_views(VIEWS, "lessons", request)


def show_lessons(request: TranslationRequest) -> None:
    """Show a card for each lesson; the first with open questions has the button that stands out."""
    del request
    bar.hide_sentence()
    lessons, problems = panel.lessons()
    following = next(filter(_open_questions, lessons), None)
    st.markdown("Predict, then look. The answers come from the model itself, for your sentence.")
    for row in range(0, len(lessons), 2):
        for number, column in enumerate(st.columns(2)[: len(lessons) - row], start=row):
            with column:
                _show_card(number + 1, lessons[number], is_next=lessons[number] == following)
    for problem in problems:
        st.warning(plain(problem), icon=":material/edit:")


def _show_card(number: int, lesson: Lesson, *, is_next: bool) -> None:
    """Show a lesson with a button that goes to its first open question, or to its begin."""
    still_open = _open_questions(lesson)
    done = len(lesson.questions) - len(still_open)
    words = f"{lesson.minutes} min" + (f", {done} of {len(lesson.questions)} questions answered" if done else "")
    label, step = ("Go on", still_open[0] - 1) if done and still_open else ("Again" if done else "Begin", 0)
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"lesson_card_{lesson.name}"):
        with st.container(gap=None):
            st.markdown(f"**{number}. {plain(lesson.title)}**")
            st.caption(f"{plain(lesson.goal)} {words}")
        look: Literal["primary", "secondary"] = "primary" if is_next else "secondary"
        st.button(label, f"begin_{lesson.name}", on_click=panel.begin, args=(lesson.name, step), type=look)
        _offer_class(lesson, "card")


def _open_questions(lesson: Lesson) -> list[int]:
    answered = panel.answered(lesson.name)
    return [number for number in lesson.questions if number not in answered]


def show_teacher(request: TranslationRequest) -> None:
    """Show a lesson's goal, its steps and right answers for this checkpoint and sentence, and its worksheets."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        lesson = _choose_lesson()
        st.button("Begin", key="begin_told", on_click=panel.begin, args=(lesson.name,))
        _offer_class(lesson, "told")
        steps = overview(lesson, request)
        for label, answers in (("Worksheet", False), ("Worksheet with answers", True)):
            page = worksheet(lesson, steps, answers=answers)
            offer_download(
                label, partial(str.encode, page), f"{lesson.name}{'_answers' if answers else ''}.html", "text/html"
            )
    st.markdown(f"{plain(lesson.goal)} **{lesson.minutes} minutes.**")
    st.markdown(f"**Alone, in a class and on paper:** {plain(reason_words(lesson, request) + about_words(steps))}")
    rows = [(str(step.number), (step.page, step.sentence, step.question, step.answer)) for step in steps]
    with st.container(key="lesson_told_steps"):
        show_table("The steps of this lesson", "step", ("page", "sentence", "question or text", "right answer"), rows)


def show_class_view(request: TranslationRequest) -> None:
    """Show the teacher's class; without one, the choice of a lesson to open a class for."""
    del request
    bar.hide_sentence()
    if show_class():
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        _offer_class(_choose_lesson(), "class")


def _choose_lesson() -> Lesson:
    titles = {lesson.title: lesson for lesson in panel.lessons()[0]}
    return titles[from_list("Lesson", list(titles), "lesson_told", width=420)]


def _offer_class(lesson: Lesson, where: str) -> None:
    key = f"teach_{lesson.name}_{where}"
    st.button("Teach this lesson", key=key, icon=":material/groups:", on_click=panel.teach, args=(lesson.name,))


VIEWS = {LESSONS: show_lessons, TEACHER: show_teacher, CLASS: show_class_view}
