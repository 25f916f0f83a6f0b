"""A visitor's lessons: the step in the address, and one value of the session, which `after` alone changes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import streamlit as st

from headlight.app import state as page_state
from headlight.language import LANGUAGES, language

from .file import MOST_HINTS, Lesson, lesson_files, read_lessons

LESSONS_PAGE = "lessons"
_STEP = re.compile(r"([a-z][a-z0-9_]{0,30})(?:\.(\d{1,2}))?")
_VISIT = "lesson_visit"  # key of the session
MOST_TRIES, MOST_LETTERS = 400, 600  # of a browser's memory


@dataclass(frozen=True)
class Destination:
    """A lesson's step, from 0, with its answer `shown` or not; `begins`: the lesson begins there.

    text, checkpoint: of the bar, "" for the present ones.
    """

    name: str
    step: int
    shown: bool = False
    text: str = ""
    checkpoint: str = ""
    begins: bool = False


@dataclass(frozen=True)
class Try:
    """Attempt at a question: the choice, the number of hints taken, and two flags, answer shown and choice right."""

    choice: object = None
    hints: int = 0
    shown: bool = False
    right: bool = False

    @property
    def is_over(self) -> bool:
        """Return whether the visitor knows the answer."""
        return self.right or self.shown


@dataclass(frozen=True)
class LessonState:
    """The lessons of a session.

    tries: by question; sentence: the visitor's, while a step is about one of the lesson's; question: shown last;
    moves: their number, the browser waits for its arrival; destination: of the next run; words: shown with it.
    """

    tries: Mapping[str, Try] = field(default_factory=dict)
    has_begun: bool = False  # the first run is over
    is_restored: bool = False  # the browser's memory has come
    sentence: str = ""
    question: str = ""
    moves: int = 0
    destination: Destination | None = None
    words: str = ""

    def tried(self, key: str) -> Try:
        """Return the attempt at a question."""
        return self.tries.get(key, Try())

    def answered(self, lesson: str) -> set[int]:
        """Return the steps of a lesson, counted from 1, that were answered correctly for any sentence."""
        steps = (re.match(rf"{re.escape(lesson)}\.(\d+) ", key) for key, tried in self.tries.items() if tried.right)
        return {int(match[1]) for match in steps if match}


class Choose(NamedTuple):
    """The visitor chooses an answer to a question."""

    key: str
    choice: object
    is_right: bool


class Do(NamedTuple):
    """The visitor has done on the page what a question asks for, perhaps after its answer was shown."""

    key: str


class Hint(NamedTuple):
    """The visitor takes one of a question's hints."""

    key: str
    most: int


class Show(NamedTuple):
    """The visitor lets the answer be shown."""

    key: str


class Restore(NamedTuple):
    """The browser sends the attempts of earlier visits, which may be anything."""

    remembered: Mapping[str, object]


class Note(NamedTuple):
    """A part of the state has another value: `sentence`, `question`, `destination` or `words`."""

    name: str
    value: Any


class Start(NamedTuple):
    """A run starts: it takes the destination."""


class Move(NamedTuple):
    """A run ends at another page or step."""


Action = Choose | Do | Hint | Show | Restore | Note | Start | Move


def after(state: LessonState, action: Action) -> LessonState:
    """Return the state after an action."""
    match action:
        case Choose(key, choice, is_right) if not state.tried(key).is_over:
            return _with(state, key, replace(state.tried(key), choice=choice, right=is_right))
        case Do(key):
            return _with(state, key, replace(state.tried(key), right=True))
        case Hint(key, most):
            return _with(state, key, replace(state.tried(key), hints=min(state.tried(key).hints + 1, most)))
        case Show(key):
            return _with(state, key, replace(state.tried(key), shown=not state.tried(key).right))
        case Restore(remembered):
            few = {key: value for key, value in list(remembered.items())[:MOST_TRIES] if len(key) <= MOST_LETTERS}
            earlier = {key: _try_of(value) for key, value in few.items() if isinstance(value, dict)}
            later = {key: tried for key, tried in state.tries.items() if tried != Try()}  # takes precedence
            return replace(state, tries=earlier | later, is_restored=True)
        case Start():
            return replace(state, has_begun=True, destination=None)
        case Move():
            return replace(state, moves=state.moves + 1)
        case Note(name, value):
            return replace(state, **{name: value})
    return state


def _with(state: LessonState, key: str, tried: Try) -> LessonState:
    return replace(state, tries={**state.tries, key: tried})


def _try_of(value: dict) -> Try:
    hints = value.get("hints")
    hints = min(max(hints, 0), MOST_HINTS) if isinstance(hints, int) else 0
    return Try(value.get("choice"), hints, bool(value.get("shown")), bool(value.get("right")))


def visit() -> LessonState:
    """Return the state of this session."""
    return st.session_state.get(_VISIT) or LessonState()


def change(action: Action) -> LessonState:
    """Do an action; return the state after it."""
    st.session_state[_VISIT] = after(visit(), action)
    return visit()


def go_to(destination: Destination) -> None:
    """Go to a lesson's step with the next run."""
    change(Note("destination", destination))


def lessons() -> tuple[list[Lesson], list[str]]:
    """Return all lessons in their order, and a sentence for each file that cannot be read."""
    files = lesson_files()
    written = tuple((str(path), path.stat().st_mtime_ns) for path in files.values() if path.is_file())
    return _read(written, language())


@lru_cache(maxsize=len(LANGUAGES))
def _read(files: tuple[tuple[str, int], ...], language: str) -> tuple[list[Lesson], list[str]]:
    return read_lessons()


def lesson_named(name: str) -> Lesson | None:
    """Return a lesson by its name, None where there is none."""
    return next((each for each in lessons()[0] if each.name == name), None)


def begin(name: str, step: int = 0) -> None:
    """Begin a lesson at a step, counted from 0. Call it in a callback."""
    go_to(Destination(name, step, begins=True))


def step_in_address() -> tuple[Lesson | None, int | None]:
    """Return the lesson in the address and its step, counted from 0, or None."""
    match = _STEP.fullmatch(page_state.value("lesson"))
    if match and match[2] and page_name() == LESSONS_PAGE:  # a visitor who opens the list has left the lesson
        page_state.go(lesson="")
        return None, None
    lesson = lesson_named(match[1]) if match else None
    if not match or lesson is None:
        return None, None
    return lesson, int(match[2]) - 1 if match[2] and int(match[2]) else None


def pages_of(lesson: Lesson, step: int) -> set[str]:
    return {lesson.steps[step].page, lesson.steps[step].show_page} - {""}


def page_name() -> str:
    return page_state.current().page
