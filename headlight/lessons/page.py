"""The page Lessons: a card for each lesson, a lesson for its teacher, and a class."""

from functools import partial

import streamlit as st

from headlight.app import bar
from headlight.app.choices import from_list, offer_view, show_views, switch
from headlight.app.results import TranslationRequest
from headlight.app.widgets import offer_download, plain, show_table
from headlight.components.show import quiz

from .file import Lesson
from .overview import about_words, overview
from .quiz_bank import bank
from .sentence import reason_words
from .teach.desk import CLASS, door_problem, open_for
from .teach.summary import show_class
from .visit import begin, lessons, visit
from .words import phrase
from .worksheet import worksheet

_say = partial(phrase, "page")

LESSONS, TEACHER, QUIZ = "lessons", "for the teacher", "quiz"
COLUMNS = ("page", "sentence", "question", "answer")  # of the teacher's table, by their words


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    show_views(VIEWS, "lessons", request)


def show_lessons(request: TranslationRequest) -> None:
    """Show a card for each lesson."""
    del request
    bar.hide_sentence()
    readable, problems = lessons()
    st.markdown(_say("invite"))
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        teaches = switch("teach")
        offer_view(bank()["alone"]["offer"], "lessons", QUIZ)
    if teaches:
        _warn_of_door()
    following = next((lesson for lesson in readable if _open_questions(lesson)), None)
    for row in range(0, len(readable), 2):
        for column, lesson in zip(st.columns(2), readable[row : row + 2], strict=False):
            with column, st.container(border=True, key=f"lesson_card_{lesson.name}"):
                _show_card(readable.index(lesson) + 1, lesson, teaches=teaches, is_next=lesson is following)
    for problem in problems:
        st.warning(plain(problem), icon=":material/edit:")


def show_quiz(request: TranslationRequest) -> None:
    """Show the quiz of a visitor who learns alone. Raises UserError."""
    from .quiz import alone_payload  # imports every measure

    del request
    bar.hide_sentence()
    quiz(alone_payload(), "quiz")


def _show_card(number: int, lesson: Lesson, *, teaches: bool, is_next: bool) -> None:
    """Show a lesson with its goal, and a button that begins it, goes on with it, or opens a class for it."""
    still = _open_questions(lesson)
    done = len(lesson.questions) - len(still)
    st.markdown(f"**{number}. {plain(lesson.title)}**  \n{plain(lesson.goal)}")
    with st.container(horizontal=True, vertical_alignment="center"):
        if teaches:
            _offer_class(lesson, "card")
        else:
            label, step = ("go_on", still[0] - 1) if done and still else ("again" if done else "begin", 0)
            on_click = partial(begin, lesson.name, step)
            key = f"begin_{lesson.name}"
            st.button(_say(label), key=key, type="primary" if is_next else "secondary", on_click=on_click)
        st.caption(_say("done" if done else "minutes", minutes=lesson.minutes, n=done, of=len(lesson.questions)))


def _open_questions(lesson: Lesson) -> list[int]:
    answered = visit().answered(lesson.name)
    return [number for number in lesson.questions if number not in answered]


def show_teacher(request: TranslationRequest) -> None:
    """Show a lesson's goal, its steps and right answers for this checkpoint and sentence, and its worksheets."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        lesson = _choose_lesson()
        st.button(_say("begin"), key="begin_told", on_click=begin, args=(lesson.name,))
        _offer_class(lesson, "told")
        steps = overview(lesson, request)
        for label, answers in (("worksheet", False), ("worksheet_with_answers", True)):
            page = worksheet(lesson, steps, answers=answers)
            name = f"{lesson.name}{'_answers' if answers else ''}.html"
            offer_download(_say(label), partial(str.encode, page), name, "text/html")
    st.markdown(_say("goal", goal=plain(lesson.goal), minutes=lesson.minutes))
    st.markdown(_say("about", about=plain(reason_words(lesson, request) + about_words(steps))))
    rows = [(str(step.number), (step.page, step.sentence, step.question, step.answer)) for step in steps]
    with st.container(key="lesson_told_steps"):
        show_table(_say("steps"), _say("step"), [*map(_say, COLUMNS)], rows)


def show_class_view(request: TranslationRequest) -> None:
    """Show the teacher's class; without one, the choice of a lesson to open a class for."""
    del request
    bar.hide_sentence()
    if show_class():
        return
    _warn_of_door()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        _offer_class(_choose_lesson(), "class")


def _choose_lesson() -> Lesson:
    titles = {lesson.title: lesson for lesson in lessons()[0]}
    return titles[from_list(list(titles), "lesson_told", width=420)]


def _warn_of_door() -> None:
    """Say before a class why its phones would find no way in."""
    if problem := door_problem():
        st.warning(plain(problem), icon=":material/wifi_off:")


def _offer_class(lesson: Lesson, where: str) -> None:
    key = f"teach_{lesson.name}_{where}"
    st.button(_say("teach_this"), key=key, icon=":material/groups:", on_click=_teach, args=(lesson.name,))


def _teach(name: str) -> None:
    """Open a class for a lesson and begin it."""
    if open_for(name):
        begin(name)


VIEWS = {LESSONS: show_lessons, TEACHER: show_teacher, CLASS: show_class_view, QUIZ: show_quiz}
