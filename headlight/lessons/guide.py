"""Way of a visitor through the lessons, on every page: into a step, into the panel, and the links.

The panel with all that it measures is imported where the address has a lesson or a class: other visits need neither.
"""

from collections.abc import Mapping

import streamlit as st

from headlight.app import state
from headlight.app.results import TranslationRequest
from headlight.app.state import HOME
from headlight.app.widgets import plain

from .visit import (
    LESSONS_PAGE,
    Destination,
    Note,
    Start,
    begin,
    change,
    lesson_named,
    lessons,
    page_name,
    pages_of,
    step_in_address,
    visit,
)
from .words import phrase

WAYS = {"pages/lessons.py": "all", "pages/inside.py": "whole_pass"}  # by the names of their words
_THROUGH = "lessons_through_page"  # key of the widget that offers lessons below a page


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


def show_lessons_through(page: str) -> None:
    """Offer the lessons that lead through a page, below it, unless a lesson is open."""
    if page in (HOME, LESSONS_PAGE, "") or step_in_address()[0]:
        return
    names = {lesson.title: lesson.name for lesson in lessons()[0] if any(step.page == page for step in lesson.steps)}
    if names:  # one element in place of a button for each: every element takes the browser a millisecond
        st.pills(phrase("guide", "through"), list(names), key=_THROUGH, on_change=_begin_chosen, args=(names,))


def _begin_chosen(names: Mapping[str, str]) -> None:
    """Begin the lesson that was chosen below a page. names: of the lessons by title."""
    title = st.session_state.pop(_THROUGH, None)
    if title in names:
        begin(names[title])


def show_ways() -> None:
    """Show the home's links: the first lesson, all of them, and the whole pass."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", width="content", key="ways"):
        for lesson in lessons()[0][:1]:
            words = phrase("guide", "begin", title=plain(lesson.title), minutes=lesson.minutes)
            st.button(words, key="first_lesson", type="primary", on_click=begin, args=(lesson.name,))
        for page, name in WAYS.items():
            st.page_link(page, label=phrase("guide", name), icon=":material/arrow_forward:")
