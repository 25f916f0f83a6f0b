"""Way of a visitor through the lessons, on every page: into a step, into the panel, and the links.

The panel with all that it measures is imported where the address has a lesson or a class: other visits need neither.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

import streamlit as st

from headlight.app import state
from headlight.app.results import TranslationRequest
from headlight.app.state import HOME
from headlight.app.widgets import plain

from .file import Lesson, lesson_files, read_lessons
from .visit import Destination, Note, Start, change, go_to, visit

LESSONS_PAGE = "lessons"
WAYS = {"pages/lessons.py": "All lessons", "pages/decoding.py": "See it translate, word by word"}
_THROUGH = "lessons_through_page"  # key of the widget that offers lessons below a page
_STEP = re.compile(r"([a-z][a-z0-9_]{0,30})(?:\.(\d{1,2}))?")


def lessons() -> tuple[list[Lesson], list[str]]:
    """Return all lessons in their order, and a sentence for each file that cannot be read."""
    files = lesson_files()
    return _read(tuple((str(path), path.stat().st_mtime_ns) for path in files.values() if path.is_file()))


@lru_cache(maxsize=1)
def _read(files: tuple[tuple[str, int], ...]) -> tuple[list[Lesson], list[str]]:
    return read_lessons()


def lesson_named(name: str) -> Lesson | None:
    """Return a lesson by its name, None where there is none."""
    return next((each for each in lessons()[0] if each.name == name), None)


def begin(name: str, step: int = 0) -> None:
    """Begin a lesson at a step, counted from 0. Call it in a callback."""
    go_to(Destination(name, step, begins=True))


def follow(request: TranslationRequest) -> None:
    """Open the visitor's destination, or that of the address of a new visit: then this run ends."""
    destination = visit().destination or _addressed()
    change(Start())
    lesson = lesson_named(destination.name) if destination else None
    if destination and lesson:
        from .panel import open_destination

        open_destination(lesson, destination, request)


def show_panel(request: TranslationRequest) -> None:
    """Show the step in the address, or the lesson's end; in a class, the teacher's desk."""
    if words := visit().words:
        change(Note("words", ""))
        st.toast(plain(words), icon=":material/info:", duration="long")
    if state.value("class") or page_name() == LESSONS_PAGE or step_in_address()[0]:
        from .panel import show

        show(request)


def _addressed() -> Destination | None:
    """Return the destination that the address of a new visit names, None where the right page is open already."""
    lesson, step = step_in_address()
    if lesson is None or (step is not None and visit().has_begun):
        return None
    if step is None:
        return Destination(lesson.name, 0, begins=True)
    begins = "text" not in state.current().values
    if step < len(lesson.steps) and page_name() == HOME and (begins or HOME not in pages_of(lesson, step)):
        return Destination(lesson.name, step, begins=begins)
    return None


def step_in_address() -> tuple[Lesson | None, int | None]:
    """Return the lesson in the address and its step, counted from 0, or None."""
    match = _STEP.fullmatch(state.value("lesson"))
    if match and match[2] and page_name() == LESSONS_PAGE:  # a visitor who opens the list has left the lesson
        state.go(lesson="")
        return None, None
    lesson = lesson_named(match[1]) if match else None
    if not match or lesson is None:
        return None, None
    return lesson, int(match[2]) - 1 if match[2] and int(match[2]) else None


def pages_of(lesson: Lesson, step: int) -> set[str]:
    return {lesson.steps[step].page, lesson.steps[step].show_page} - {""}


def page_name() -> str:
    return state.current().page


def show_lessons_through(page: str) -> None:
    """Offer the lessons that lead through a page, below it, unless a lesson is open."""
    if page in (HOME, LESSONS_PAGE, "") or step_in_address()[0]:
        return
    names = {lesson.title: lesson.name for lesson in lessons()[0] if any(step.page == page for step in lesson.steps)}
    if names:  # one element in place of a button for each: every element takes the browser a millisecond
        st.pills("Lessons through this page", list(names), key=_THROUGH, on_change=_begin_chosen, args=(names,))


def _begin_chosen(names: Mapping[str, str]) -> None:
    """Begin the lesson that was chosen below a page. names: of the lessons by title."""
    title = st.session_state.pop(_THROUGH, None)
    if title in names:
        begin(names[title])


def show_ways() -> None:
    """Show the home's links: the first lesson, all of them, and a translation token by token."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", width="content", key="ways"):
        for lesson in lessons()[0][:1]:
            words = f"Begin with a lesson: {plain(lesson.title)} {lesson.minutes} min"
            st.button(words, key="first_lesson", type="primary", on_click=begin, args=(lesson.name,))
        for page, label in WAYS.items():
            st.page_link(page, label=label, icon=":material/arrow_forward:")
