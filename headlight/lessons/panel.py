"""Panel of a visitor's lesson. The address has the step, the session has the attempts.

The panel is drawn before the page. Going to a step changes page and address in one (`state.open_page`).
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import streamlit as st

from headlight.app import bar, results, state
from headlight.app.parameters import PARAMETERS
from headlight.app.results import TranslationRequest
from headlight.app.state import HOME
from headlight.app.statics import style
from headlight.app.widgets import is_presented, plain
from headlight.components.show import lesson_panel
from transformer.errors import UserError

from .answer import Kind, Run
from .destination import Destination, go_to, take
from .file import Lesson, lesson_files, read_lessons
from .sentence import all_sentences, pose_step, reason_words, step_sentences, walk
from .step_view import StepView, Try, payload_of, pose
from .teach import desk

STYLE, DOCKED = (Path(__file__).with_name(f"{name}.css") for name in ("panel", "docked"))
LESSONS_PAGE = "lessons"
# In a step's veil: properties that the components read. The words whose lines are hidden can still be clicked.
_LINES = "--answers: hidden; --aside: none; --pointing: none; --lines-apart: 4rem"
OF_FINDINGS = {"findings": "--findings: blur(9px)", "more": "--more: blur(9px)", "lines": _LINES}
WAYS = {"pages/lessons.py": "All lessons", "pages/inside.py": "See the whole pass"}
# Keys of the session.
_TRIES = "lesson_tries"  # attempts by question
_BEGUN = "lesson_begun"  # the first run is over
_OWN = "lesson_own"  # the visitor's sentence, while a step is about one of the lesson's
_POSED = "lesson_posed"  # the question that the page showed last
_MOVES = "lesson_moves"  # number of moves: the browser waits for its arrival
_THROUGH = "lessons_through_page"  # the lesson that was chosen below a page
_RESTORED = "lesson_restored"  # the browser's memory has come
MOST_TRIES, MOST_LETTERS = 400, 600  # of a browser's memory
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


def _open(page: str, values: Mapping[str, str]) -> None:
    """End this run and open a page with these values."""
    st.session_state[_MOVES] = st.session_state.get(_MOVES, 0) + 1
    state.open_page(page, **values)


TO_LIST, TO_NEXT = -2, -3  # numbers that panel.js sends in place of a step; -1 leaves the lesson
_NO_HANDLERS: dict[str, Any] = dict.fromkeys(("choose", "hint", "show", "go", "restore"), lambda *_: None)


def follow(request: TranslationRequest) -> None:
    """Open the visitor's destination, or that of the address of a new visit: then this run ends."""
    destination = take() or _addressed()
    st.session_state[_BEGUN] = True
    lesson = lesson_named(destination.name) if destination else None
    if destination is None or lesson is None:
        return
    bar_values = {name: value for name in ("text", "checkpoint") if (value := getattr(destination, name))}
    if destination.checkpoint in results.checkpoint_names():
        request = replace(request, checkpoint=results.checkpoint(destination.checkpoint))
    request = replace(request, text=destination.text or request.text)
    try:
        view = _view_at(lesson, destination, request)
    except BaseException as error:
        if not isinstance(error, Exception):  # another run interrupts this one
            go_to(destination)
        raise
    values = {} if destination.shown else {**_defaults(lesson), "text": view.run.request.text}
    if not destination.shown and view.run.request.text != request.text:
        values |= bar.forgetting(view.run.request.text)
    values |= view.address(shown=destination.shown) or {}
    values |= {**bar_values, "lesson": view.address_of_step}
    _open(view.step.show_page if destination.shown and view.step.show_page else view.step.page, values)


def _view_at(lesson: Lesson, destination: Destination, request: TranslationRequest) -> StepView:
    """Return the step of a destination; where the lesson begins, with the sentence that `sentence.walk` chooses."""
    number = min(destination.step, len(lesson.steps) - 1)
    if not destination.begins:
        with suppress(UserError):  # the text cannot be translated: the lesson's own can
            return _pose(lesson, number, request)
    st.session_state.pop(_OWN, None)
    view = next(islice(walk(lesson, request), number, None))
    if view.run.request.text != request.text != PARAMETERS["text"].default:
        desk.tell(f"{reason_words(lesson, request)}The questions are about “{view.run.request.text}”")
    return view


def _pose(lesson: Lesson, number: int, request: TranslationRequest) -> StepView:
    """Return a step for the visitor's sentence, or for the first of the lesson's sentences that decides its question.

    Where the visitor's sentence does not decide the question, the panel gives the reason. Opening the step again takes
    the lesson's sentence; the next step returns to the visitor's, which the session stores meanwhile.
    """
    is_again = _step_in_address() == (lesson, number)
    visitors = request.text if request.text not in all_sentences(lesson) else ""
    visitors = visitors or ("" if is_again else st.session_state.pop(_OWN, ""))
    if visitors:
        view = pose(lesson, number, Run(replace(request, text=visitors), _address()))
        sentences = step_sentences(lesson, number, request)
        if not (view.undecided and is_again and sentences):
            return view
        st.session_state[_OWN] = visitors
        request = replace(request, text=sentences[0])
    return pose_step(lesson, number, Run(request, _address()))


def _defaults(lesson: Lesson) -> dict[str, str]:
    """Return the defaults of all parameters that a step of the lesson sets."""
    names = {name for step in lesson.steps for name in (*step.at, *step.show)} - {"text", "lesson"}
    defaults = {name: PARAMETERS[name].default for name in names}
    return {name: str(value) for name, value in defaults.items() if isinstance(value, (str, int, float))}


def _addressed() -> Destination | None:
    """Return the destination that the address of a new visit names, None where the right page is open already."""
    lesson, step = _step_in_address()
    if lesson is None or (step is not None and st.session_state.get(_BEGUN)):
        return None
    if step is None:
        return Destination(lesson.name, 0, begins=True)
    begins = "text" not in state.current().values
    if step < len(lesson.steps) and _page_name() == HOME and (begins or HOME not in _pages_of(lesson, step)):
        return Destination(lesson.name, step, begins=begins)
    return None


def _step_in_address() -> tuple[Lesson | None, int | None]:
    """Return the lesson in the address and its step, counted from 0, or None."""
    match = _STEP.fullmatch(state.value("lesson"))
    if match and match[2] and _page_name() == LESSONS_PAGE:  # a visitor who opens the list has left the lesson
        state.go(lesson="")
        return None, None
    lesson = lesson_named(match[1]) if match else None
    if not match or lesson is None:
        return None, None
    return lesson, int(match[2]) - 1 if match[2] and int(match[2]) else None


def _pages_of(lesson: Lesson, step: int) -> set[str]:
    return {lesson.steps[step].page, lesson.steps[step].show_page} - {""}


def _page_name() -> str:
    return state.current().page


def _address() -> dict[str, str]:
    """Return the values of the page."""
    return state.current().all_values


def show_panel(request: TranslationRequest) -> None:
    """Show the step in the address, or the lesson's end; in a class, the teacher's desk."""
    lesson, number = _step_in_address()
    code = desk.code_in_address()
    desk.show_refusal()
    if _page_name() == LESSONS_PAGE and _RESTORED not in st.session_state and not code:
        lesson_panel({"list": True}, "lesson_panel", **(_NO_HANDLERS | {"restore": _restore}))
    if code:
        _show_desk(code, request, lesson, number)
        return
    if lesson is None or number is None or number > len(lesson.steps):
        return
    st.html(style(STYLE))
    presented = is_presented()
    if presented:
        st.html(style(DOCKED))
    of_visit = {
        "present": presented,
        "known": _RESTORED in st.session_state,
        "turn": st.session_state.get(_MOVES, 0),
    }
    handlers = _NO_HANDLERS | {"go": lambda step: _go(lesson, step), "restore": _restore}
    if number == len(lesson.steps):
        lesson_panel(end_of(lesson) | of_visit, "lesson_panel", **handlers)
        return
    view = _pose_addressed(lesson, number, request)
    tried = _tries().setdefault(view.key, Try())
    if view.answer and view.answer.kind == Kind.DO and view.answer.done:
        tried.right = True
    is_over = tried.right or tried.shown
    _follow_sentence(view, shown=is_over)
    _veil(view, lifted=is_over)
    # "again": an open question that was answered for another sentence or another model.
    is_again = not is_over and number + 1 in answered(lesson.name)
    handlers |= {
        "choose": lambda choice: _choose(view, tried, choice),
        "hint": lambda: _take_hint(view, tried),
        "show": lambda: _show(view, tried),
    }
    payload = payload_of(view, tried) | of_visit | {"away": _is_away(view), "again": is_again}
    lesson_panel(payload, "lesson_panel", **handlers)


def _follow_sentence(view: StepView, *, shown: bool) -> None:
    """Rerun with the heads and positions of a new sentence, where the sentence has changed on the same step."""
    before, st.session_state[_POSED] = st.session_state.get(_POSED, ""), view.key
    step, address = view.step, view.address(shown=shown) or {}
    values = {name: value for name, value in address.items() if value not in (step.at.get(name), step.show.get(name))}
    is_other = view.key != before and before.startswith(f"{view.address_of_step} ")
    page = (shown and step.show_page) or step.page
    if values and is_other and page == _page_name():
        state.open_page(page, **values)


def _pose_addressed(lesson: Lesson, number: int, request: TranslationRequest) -> StepView:
    """Return a step for the request's sentence, undecided with the reason where it cannot be translated."""
    try:
        return pose(lesson, number, Run(request, _address()))
    except UserError as error:
        return StepView(lesson, number, Run(request), undecided=str(error))


def _show_desk(code: str, request: TranslationRequest, lesson: Lesson | None, number: int | None) -> None:
    """Show the teacher's desk of a class, with the question of the step in the address, if any."""
    if lesson is None or number is None or number >= len(lesson.steps):
        desk.show(code, desk.screen_of(_page_name(), request, None))
        return
    view = _pose_addressed(lesson, number, request)
    is_revealed = desk.is_revealed(code, view)
    _follow_sentence(view, shown=is_revealed)
    _veil(view, lifted=is_revealed)
    desk.show(code, desk.screen_of(_page_name(), request, view, away=_is_away(view)))


def _veil(view: StepView, *, lifted: bool) -> None:
    """Blur the containers of `cover`, and those of `veil` until it is lifted.

    Of the token lines only lines and numbers are hidden; the sentence stays readable.
    """
    for key in view.step.cover + (() if lifted else view.step.veil):
        blur = f".st-key-{key} {{ filter: blur(9px); pointer-events: none; user-select: none; }}"
        style = f"html {{ {OF_FINDINGS[key]}; }}" if key in OF_FINDINGS else blur
        st.html(f"<style>{style}</style>")


def teach(name: str, step: int = 0) -> None:
    """Open a class for a lesson at a step, counted from 0, and begin it; to be called in a callback."""
    if desk.open_for(name, step):
        begin(name, step)


def end_of(lesson: Lesson) -> dict:
    """Return the panel's payload after the last step: the goal, the score, and the next lesson."""
    following = _following(lesson)
    return {
        "key": f"{lesson.name} end",
        "title": lesson.title,
        "step": len(lesson.steps) + 1,
        "of": len(lesson.steps),
        "say": [("strong", "The end. "), ("", f"The goal was: {lesson.goal}")],
        "score": _score(len(answered(lesson.name).intersection(lesson.questions)), len(lesson.questions)),
        "next_lesson": following.title if following else "",
        "note": [],
        "undecided": "",
        "tried": vars(Try()),
    }


def _following(lesson: Lesson) -> Lesson | None:
    """Return the next lesson of the list, None after the last one."""
    return next((after for before, after in pairwise(lessons()[0]) if before == lesson), None)


def _score(right: int, questions: int) -> str:
    """Return a lesson's score in words, as `score` in live_page/lessons.js."""
    if right == questions:
        return f"All {questions} right!"
    score = f"{right} of {questions} right so far. " if right else ""
    return f"{score}You can go back to the open questions whenever you like."


def _is_away(view: StepView) -> bool:
    """Return whether the page is another one than the step's."""
    return _page_name() not in _pages_of(view.lesson, view.number)


def _tries() -> dict[str, Try]:
    return st.session_state.setdefault(_TRIES, {})


def _choose(view: StepView, tried: Try, choice: object) -> None:
    if view.answer and not (tried.right or tried.shown):
        tried.choice = choice
        tried.right = view.answer.is_right(choice)
        if tried.right and view.answer.kind != Kind.DO:  # of an action the figure shows the result already
            _show_figure(view)


def _take_hint(view: StepView, tried: Try) -> None:
    tried.hints = min(tried.hints + 1, len(view.hints()))


def _show(view: StepView, tried: Try) -> None:
    """Reveal the answer in the panel and in the figure."""
    tried.shown = tried.shown or not tried.right
    _show_figure(view)


def _show_figure(view: StepView) -> None:
    """Open the figure that shows the answer, if the step has one."""
    if view.step.show or view.step.show_page:
        go_to(Destination(view.lesson.name, view.number, shown=True))


def _go(lesson: Lesson, step: int) -> None:
    """Go to a step, counted from 1, to the lesson's end after the last one, or leave the lesson.

    step: a number of panel.js; the number of the current step opens its figure again, TO_LIST the list of lessons,
    TO_NEXT the next lesson. The end changes the panel alone: the last step's figure stays beside it.
    """
    if 1 <= step <= len(lesson.steps):
        go_to(Destination(lesson.name, step - 1))
        return
    if step == TO_LIST:
        state.leave_for(LESSONS_PAGE, lesson="")
        return
    state.go(lesson=f"{lesson.name}.{len(lesson.steps) + 1}" if step > 0 else "")
    if step == TO_NEXT and (following := _following(lesson)):
        begin(following.name)


def show_lessons_through(page: str) -> None:
    """Offer the lessons that lead through a page, below it, unless a lesson is open."""
    if page in (HOME, LESSONS_PAGE, "") or _step_in_address()[0]:
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
    """Show the home's links: the first lesson, all of them, and the whole pass."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", width="content", key="ways"):
        for lesson in lessons()[0][:1]:
            words = f"Begin with a lesson: {plain(lesson.title)} {lesson.minutes} min"
            st.button(words, key="first_lesson", type="primary", on_click=begin, args=(lesson.name,))
        for page, label in WAYS.items():
            st.page_link(page, label=label, icon=":material/arrow_forward:")


def answered(name: str) -> set[int]:
    """Return the steps of a lesson, counted from 1, that were answered correctly for any sentence."""
    steps = (re.match(rf"{re.escape(name)}\.(\d+) ", key) for key, tried in _tries().items() if tried.right)
    return {int(match[1]) for match in steps if match}


def _restore(remembered: Mapping[str, object]) -> None:
    """Add the attempts of earlier visits that the browser remembers; attempts of this visit take precedence."""
    st.session_state[_RESTORED] = True
    for key, value in list(remembered.items())[:MOST_TRIES]:
        if len(key) <= MOST_LETTERS and isinstance(value, dict) and _tries().get(key, Try()) == Try():
            hints = value.get("hints")
            _tries()[key] = Try(
                value.get("choice"),
                min(max(hints, 0), 3) if isinstance(hints, int) else 0,
                bool(value.get("shown")),
                bool(value.get("right")),
            )
