"""The page Lessons: the next lesson above all others, a lesson for its teacher, and a class."""

from functools import partial

import streamlit as st

from headlight.app import bar
from headlight.app.choices import from_list, show_views
from headlight.app.results import TranslationRequest
from headlight.app.widgets import offer_download, plain, show_table

from . import panel
from .file import Lesson
from .overview import overview
from .sentence import about_words
from .teach.desk import CLASS
from .teach.summary import show_class
from .worksheet import worksheet

LESSONS, TEACHER = "lessons", "for the teacher"


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    show_views(VIEWS, "lessons", request)


def show_lessons(request: TranslationRequest) -> None:
    """Show the next lesson, and below it a card for each lesson."""
    del request
    bar.hide_sentence()
    lessons, problems = panel.lessons()
    numbered = list(enumerate(lessons, start=1))
    following = next((each for each in numbered if _open_questions(each[1])), None)
    if following:
        _show_next(*following)
    st.markdown("Predict, then look. The answers come from the model itself, for your sentence.")
    for row in range(0, len(numbered), 2):
        for column, (number, lesson) in zip(st.columns(2), numbered[row : row + 2], strict=False):
            with column:
                _show_card(number, lesson)
    for problem in problems:
        st.warning(plain(problem), icon=":material/edit:")


def _show_next(number: int, lesson: Lesson) -> None:
    """Show the first lesson that has open questions, and a button that goes to the first of these."""
    begun = bool(panel.answered(lesson.name))
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="next_lesson"):
        with st.container(gap=None):
            st.subheader(f"{number}. {plain(lesson.title)}", anchor=False)
            st.markdown(plain(lesson.goal))
        label, step = ("Go on", _open_questions(lesson)[0] - 1) if begun else ("Begin", 0)
        words = f"{label}, {lesson.minutes} min"
        st.button(words, key="begin_next", type="primary", on_click=panel.begin, args=(lesson.name, step))
        _offer_class(lesson, "next")


def _show_card(number: int, lesson: Lesson) -> None:
    questions = _questions(lesson)
    done = len(questions) - len(_open_questions(lesson))
    words = f"{lesson.minutes} min" + (f", {done} of {len(questions)} questions answered" if done else "")
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"lesson_card_{lesson.name}"):
        with st.container(gap=None):
            st.markdown(f"**{number}. {plain(lesson.title)}**")
            st.caption(words)
        label = "Again" if done == len(questions) else "Begin"
        st.button(label, key=f"begin_{lesson.name}", on_click=panel.begin, args=(lesson.name,))
        _offer_class(lesson, "card")


def _questions(lesson: Lesson) -> list[int]:
    """Return the steps of a lesson with a question, counted from 1."""
    return [number for number, step in enumerate(lesson.steps, start=1) if step.is_question]


def _open_questions(lesson: Lesson) -> list[int]:
    answered = panel.answered(lesson.name)
    return [number for number in _questions(lesson) if number not in answered]


def show_teacher(request: TranslationRequest) -> None:
    """Show a lesson's goal, its steps and right answers for this checkpoint and sentence, and its worksheets."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        lesson = _choose_lesson()
        st.button("Begin", key="begin_told", on_click=panel.begin, args=(lesson.name,))
        _offer_class(lesson, "told")
        steps = overview(lesson, request)
        sentences = [step.sentence for step in steps]
        about = about_words(lesson, request, sentences)
        for label, answers in (("Worksheet", False), ("Worksheet with answers", True)):
            page = worksheet(lesson, steps, about, answers=answers)
            offer_download(
                label, partial(str.encode, page), f"{lesson.name}{'_answers' if answers else ''}.html", "text/html"
            )
    st.markdown(f"{plain(lesson.goal)} **{lesson.minutes} minutes.**")
    st.markdown(plain(about_words(lesson, request, sentences, "The class asks about")))
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
