"""The lesson that a visitor goes through: its step stands in the address, what they tried in the session.

The panel is drawn before the page, in a place of its own. Going to a step changes page and address in one: what is
ordered (`url_state.order`) is taken by the widgets of the run that follows.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from headlight.app import bar, results, url_state
from headlight.app.navigation import HOME
from headlight.app.parameters import PARAMETERS
from headlight.app.results import TranslationRequest
from headlight.app.statics import style
from headlight.app.widgets import is_presented, plain
from headlight.components.show import lesson_panel
from transformer.errors import UserError

from .answer import Kind, Run
from .file import Lesson, lesson_files, read_lessons
from .posed import Posed, Try, payload_of, pose, pose_somehow
from .teach import desk

STYLE, DOCKED = (Path(__file__).with_name(f"{name}.css") for name in ("panel", "docked"))
LESSONS_PAGE, CLASS = "lessons", "a class"  # the page of lessons, and its view of a class
# In a step's veil: what the page says that it found, all of it or what it says only when asked for more.
OF_FINDINGS = ("findings", "more")  # properties of lib/finding.css, which components have, too
WAYS = {"pages/lessons.py": "All lessons", "pages/decoding.py": "See it translate, token by token"}
_LINES = "home_lines"  # the container of the token lines, which read --answers
# In the session: where to go next; what the next run is to show; what was tried; the first run is over.
_GOING, _ORDER, _TRIES, _BEGUN = "lesson_going", "lesson_order", "lesson_tries", "lesson_begun"
_OWN = "lesson_own"  # the visitor's sentence, while a step is about one of the lesson's
_MOVES = "lesson_moves"  # how often the panel led somewhere: the browser is told that it has arrived
_TO_LIST = "lesson_to_list"  # what the address of the page of lessons has, until that is opened
_THROUGH = "lessons_through_page"  # the lesson that was chosen below a page
_RESTORED = "lesson_restored"  # what the browser remembered has come
MOST_TRIES, MOST_LETTERS = 400, 600  # kept of a browser's memory
_PLACE = re.compile(r"([a-z][a-z0-9_]{0,30})(?:\.(\d{1,2}))?")


@dataclass(frozen=True)
class _Going:
    """Where to go: a lesson, its step from 0, whether its answer is shown, and whether the lesson begins.

    text, checkpoint: what the bar is to have there, where it may have something else by now.
    """

    name: str
    step: int
    shown: bool = False
    begins: bool = False
    text: str = ""
    checkpoint: str = ""


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
    """Begin a lesson at a step, counted from 0; to be called in a callback."""
    st.session_state[_GOING] = _Going(name, step, begins=True)


def start_run() -> None:
    """Order what a step asked for in the run before, where its page is there; called once a run, before the bar.

    The order stands until a run of that page has come to its end: one that is interrupted has not taken all of it.
    """
    url_state.forget_orders()
    page, values = st.session_state.get(_ORDER, ("", {}))
    if page == _page_name():
        url_state.order(values)
        if url_state.came_from_another_page():
            url_state.write_all(
                {key: text for key, text in values.items() if text != str(PARAMETERS[key].default or "")}
            )


def end_run() -> None:
    """Leave the page to its visitor again."""
    url_state.forget_orders()
    st.session_state.pop(_ORDER, None)


def _open(page: str, values: Mapping[str, str]) -> None:
    """Go to a page that shows these values: then this run ends. `start_run` writes them into its address."""
    st.session_state[_ORDER] = (page, dict(values))
    st.session_state[_MOVES] = st.session_state.get(_MOVES, 0) + 1
    if page == _page_name():
        st.rerun()
    st.switch_page(f"pages/{page}.py", query_params={})


TO_LIST, TO_NEXT = -2, -3  # where the panel's buttons lead to besides a step, as in panel.js: -1 only leaves
_DEAF: dict[str, Any] = dict.fromkeys(("choose", "hint", "show", "go", "teach", "restore"), lambda *_: None)


def follow(request: TranslationRequest) -> None:
    """Go where the visitor wants to, or where the address of a new visit leads: then this run ends."""
    if (to_list := st.session_state.pop(_TO_LIST, None)) is not None:
        _open(LESSONS_PAGE, to_list)
    going = st.session_state.pop(_GOING, None) or _addressed()
    st.session_state[_BEGUN] = True
    lesson = lesson_named(going.name) if going else None
    if going is None or lesson is None:
        return
    number = min(going.step, len(lesson.steps) - 1)
    wanted = {name: text for name in ("text", "checkpoint") if (text := getattr(going, name))}
    if going.checkpoint in results.checkpoint_names():
        request = replace(request, checkpoint=results.checkpoint(going.checkpoint))
    request = replace(request, text=going.text or request.text)
    undecided = _undecided_by_own(lesson, request) if going.begins and desk.code_in_address() else None
    try:
        posed = _posed(lesson, number, request, begins=going.begins if undecided is None else bool(undecided))
    except UserError:  # the text cannot be translated: the lesson's own can
        posed = _posed(lesson, number, request, begins=True)
    if undecided:
        questions = ("question " if len(undecided) == 1 else "questions ") + ", ".join(map(str, undecided))
        begun = posed.run.request.text
        desk.tell(f"“{request.text}” does not decide {questions} of this lesson: the class begins with “{begun}”")
    shown = posed.address(shown=going.shown)
    step = posed.step
    reset = {
        key: str(PARAMETERS[key].default)
        for key in _names(lesson)
        if isinstance(PARAMETERS[key].default, (str, int, float))
    }
    values = {} if going.shown else {**reset, "text": posed.run.request.text}
    values |= {**(shown or {}), **wanted, "lesson": f"{lesson.name}.{number + 1}"}
    if not going.shown and posed.run.request.text != request.text:
        bar.forget_positions()
    _open(step.show_page if going.shown and step.show_page else step.page, values)


def _undecided_by_own(lesson: Lesson, request: TranslationRequest) -> list[int] | None:
    """Return the steps, from 1, whose questions the teacher's sentence does not decide; None for the default sentence.

    A sentence of the lesson is kept, wherever the class begins: each step brings another one where it needs it.
    """
    if request.text == PARAMETERS["text"].default:
        return None
    of_lesson = {text for step in range(len(lesson.steps)) for text in lesson.sentences_of(step)}
    if request.text in of_lesson:
        return []
    questions = [number for number, step in enumerate(lesson.steps) if step.is_question]
    try:
        return [number + 1 for number in questions if pose(lesson, number, Run(request)).undecided]
    except UserError:  # it cannot be translated
        return [number + 1 for number in questions]


def _posed(lesson: Lesson, number: int, request: TranslationRequest, *, begins: bool) -> Posed:
    """Pose a step for the visitor's own sentence, or else for the first of the lesson's that decides it.

    Where the own one does not, the panel says why; the same step again takes the lesson's, the next step the own.
    """
    sentences = lesson.sentences_of(number) if _reads_english(request) else ()
    of_lesson = {text for step in range(len(lesson.steps)) for text in lesson.sentences_of(step)}
    is_again = _place() == (lesson, number)
    own = request.text if request.text not in of_lesson else "" if is_again else st.session_state.pop(_OWN, "")
    if own and not begins:
        posed = pose(lesson, number, Run(replace(request, text=own), _address()))
        if not (posed.undecided and is_again and sentences):
            return posed
        st.session_state[_OWN] = own
    if sentences and (begins or request.text not in sentences):
        request = replace(request, text=sentences[0])
    return pose_somehow(lesson, number, Run(request, _address()), sentences)


def _reads_english(request: TranslationRequest) -> bool:
    return results.translator(request.checkpoint).checkpoint.data.get("source_language", "English") == "English"


def _names(lesson: Lesson) -> set[str]:
    """Return the names that the lesson's steps give values in the address."""
    return {name for step in lesson.steps for name in (*step.at, *step.show)} - {"text", "lesson"}


def _addressed() -> _Going | None:
    """Return where the address leads a visit that begins: to the step's page, where it opened another one."""
    lesson, step = _place()
    if lesson is None or (step is not None and st.session_state.get(_BEGUN)):
        return None
    if step is None:
        return _Going(lesson.name, 0, begins=True)
    begins = "text" not in url_state.written()
    if step < len(lesson.steps) and _page_name() == HOME and (begins or HOME not in _pages_of(lesson, step)):
        return _Going(lesson.name, step, begins=begins)
    return None


def _place() -> tuple[Lesson | None, int | None]:
    """Return the lesson in the address and its step, counted from 0; None for what does not stand there."""
    found = _PLACE.fullmatch(url_state.read("lesson"))
    if found and found[2] and _page_name() == LESSONS_PAGE:  # whoever comes back to the list has left the lesson
        url_state.write("lesson", "")
        return None, None
    lesson = lesson_named(found[1]) if found else None
    if not found or lesson is None:
        return None, None
    return lesson, int(found[2]) - 1 if found[2] and int(found[2]) else None


def _pages_of(lesson: Lesson, step: int) -> set[str]:
    return {lesson.steps[step].page, lesson.steps[step].show_page} - {""}


def _page_name() -> str:
    return url_state.page_shown() or HOME


def _address() -> dict[str, str]:
    """Return what the page shows by what it is told: its widgets, the address, and what this run still has to bring."""
    held = {key: str(st.session_state[key]) for key in PARAMETERS if key in st.session_state}
    return held | url_state.written() | url_state.orders()


def show_panel(request: TranslationRequest) -> None:
    """Show the step of the lesson that the address asks for, or its end; to a teacher of a class her desk."""
    lesson, number = _place()
    code = desk.code_in_address()
    desk.show_refusal()
    if _page_name() == LESSONS_PAGE and _RESTORED not in st.session_state and not code:
        lesson_panel({"list": True}, "lesson_panel", **(_DEAF | {"restore": _restore}))
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
    if number == len(lesson.steps):
        heard = _DEAF | {"go": lambda step: _go(lesson, step), "restore": _restore}
        lesson_panel(end_of(lesson) | of_visit, "lesson_panel", **heard)
        return
    posed = _pose_shown(lesson, number, request)
    tried = _tried(posed)
    if posed.answer and posed.answer.kind == Kind.DO and posed.answer.done:
        tried.right = True
    _veil(posed, lifted=tried.right or tried.shown)
    lesson_panel(
        payload_of(posed, tried) | of_visit | {"away": _is_away(posed), "again": _is_asked_again(posed, tried)},
        "lesson_panel",
        choose=lambda choice: _choose(posed, choice),
        hint=lambda: _take_hint(posed),
        show=lambda: _show(posed),
        go=lambda step: _go(lesson, step),
        teach=lambda: teach(posed.lesson.name, posed.number),
        restore=_restore,
    )


def _pose_shown(lesson: Lesson, number: int, request: TranslationRequest) -> Posed:
    """Pose a step for what the page shows; for a sentence that cannot be translated it says why."""
    try:
        return pose(lesson, number, Run(request, _address()))
    except UserError as error:
        return Posed(lesson, number, Run(request), undecided=str(error))


def _show_desk(code: str, request: TranslationRequest, lesson: Lesson | None, number: int | None) -> None:
    """Show a teacher's desk, with the question of the step in the address where there is one."""
    if lesson is None or number is None or number >= len(lesson.steps):
        desk.show(code, desk.place_on(_page_name(), request, None), _WAYS)
        return
    posed = _pose_shown(lesson, number, request)
    _veil(posed, lifted=desk.is_revealed(code, posed))
    desk.show(code, desk.place_on(_page_name(), request, posed, away=_is_away(posed)), _WAYS)


def _veil(posed: Posed, *, lifted: bool) -> None:
    """Blur the parts that the step covers and, until the veil is lifted, those that give the answer away.

    The token lines hide lines and numbers alone: the sentence stays readable.
    """
    for key in posed.step.cover + (() if lifted else posed.step.veil):
        cover = "--answers: hidden" if key == _LINES else "filter: blur(9px)"
        style = f".st-key-{key} {{ {cover}; pointer-events: none; user-select: none; }}"
        if key in OF_FINDINGS:
            style = f":root {{ --{key}: blur(9px); }}"
        st.html(f"<style>{style}</style>")


def teach(name: str, step: int = 0) -> None:
    """Open a class for a lesson at a step, counted from 0, and begin it; to be called in a callback."""
    if desk.open_for(name, step):
        st.session_state[_GOING] = _Going(name, step, begins=True)


def _go_to(name: str, step: int, shown: bool, text: str, checkpoint: str) -> None:
    st.session_state[_GOING] = _Going(name, step, shown=shown, text=text, checkpoint=checkpoint)


def _go_to_summary() -> None:
    url_state.write("lesson", "")
    st.session_state[_TO_LIST] = {"lessons": CLASS}


_WAYS = desk.Ways(_go_to, _go_to_summary)


def _is_asked_again(posed: Posed, tried: Try) -> bool:
    """Return whether a question that is open was answered before for another sentence or another model."""
    return not (tried.right or tried.shown) and posed.number + 1 in answered(posed.lesson.name)


def end_of(lesson: Lesson) -> dict:
    """Return what the panel shows after the last step: what one can now, what one found, and where to go on."""
    found, _ = lessons()
    later = found[found.index(lesson) + 1 :] if lesson in found else []
    asked = {number for number, step in enumerate(lesson.steps, start=1) if step.is_question}
    right = len(answered(lesson.name) & asked)
    return {
        "key": f"{lesson.name} end",
        "title": lesson.title,
        "step": len(lesson.steps) + 1,
        "of": len(lesson.steps),
        "say": [("strong", "Done! "), ("", lesson.goal)],
        "score": _score(right, len(asked)),
        "next_lesson": later[0].title if later else "",
        "note": [],
        "undecided": "",
        "tried": vars(Try()),
    }


def _score(right: int, asked: int) -> str:
    """Return what the panel says of a lesson's right answers, as `score` in live_page/lessons.js."""
    if right == asked:
        return f"All {asked} right!"
    found = f"{right} of {asked} right so far. " if right else ""
    return f"{found}You can go back to the open questions whenever you like."


def _is_away(posed: Posed) -> bool:
    """Return whether the page shows something else than the step's figure."""
    if url_state.ordered("lesson"):
        return False
    return _page_name() not in _pages_of(posed.lesson, posed.number)


def _tries() -> dict[str, Try]:
    return st.session_state.setdefault(_TRIES, {})


def _tried(posed: Posed) -> Try:
    return _tries().setdefault(posed.key, Try())


def _choose(posed: Posed, choice: object) -> None:
    tried = _tried(posed)
    if posed.answer and not (tried.right or tried.shown):
        tried.choice = choice
        tried.right = posed.answer.is_right(choice)


def _take_hint(posed: Posed) -> None:
    tried = _tried(posed)
    tried.hints = min(tried.hints + 1, len(posed.hints()))


def _show(posed: Posed) -> None:
    """Tell the answer, and let the figure show it."""
    tried = _tried(posed)
    tried.shown = tried.shown or not tried.right
    if posed.step.show or posed.step.show_page:
        st.session_state[_GOING] = _Going(posed.lesson.name, posed.number, shown=True)


def _go(lesson: Lesson, step: int) -> None:
    """Go to a step, from 1, this one again for its figure; past the last one to the end; or leave, as LEAVE and others.

    The end stands beside the last step's figure: nothing moves but what the panel says.
    """
    if 1 <= step <= len(lesson.steps):
        st.session_state[_GOING] = _Going(lesson.name, step - 1)
        return
    url_state.write("lesson", f"{lesson.name}.{len(lesson.steps) + 1}" if step > 0 else "")
    if step == TO_LIST:
        st.session_state[_TO_LIST] = {}
    found, _ = lessons()
    if step == TO_NEXT and lesson in found[:-1]:
        begin(found[found.index(lesson) + 1].name)


def show_lessons_through(page: str) -> None:
    """Say below a page which lessons go through it, unless one does now."""
    if page in (HOME, LESSONS_PAGE, "") or _place()[0]:
        return
    through = [lesson for lesson in lessons()[0] if any(step.page == page for step in lesson.steps)]
    if not through:
        return
    # One element in place of a button for each: every element takes the browser a millisecond.
    names = {lesson.title: lesson.name for lesson in through}
    st.pills("Lessons through this page", list(names), key=_THROUGH, on_change=_begin_chosen, args=(names,))


def _begin_chosen(names: Mapping[str, str]) -> None:
    """Begin the lesson that was chosen below a page, by the names of the lessons' titles."""
    title = st.session_state.pop(_THROUGH, None)
    if title in names:
        begin(names[title])


def show_ways() -> None:
    """Show on the home where to go on: the first lesson, all of them, and a translation token by token."""
    found, _ = lessons()
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", width="content", key="ways"):
        for lesson in found[:1]:
            words = f"Begin with a lesson: {plain(lesson.title)} {lesson.minutes} min"
            st.button(words, key="first_lesson", type="primary", on_click=begin, args=(lesson.name,))
        for page, label in WAYS.items():
            st.page_link(page, label=label, icon=":material/arrow_forward:")


def answered(name: str) -> set[int]:
    """Return the steps of a lesson, counted from 1, that were answered rightly, whatever the sentence."""
    found = (re.match(rf"{re.escape(name)}\.(\d+) ", key) for key, tried in _tries().items() if tried.right)
    return {int(each[1]) for each in found if each}


def _restore(remembered: Mapping[str, object]) -> None:
    """Take over what a browser remembers of earlier visits; what this visit has is newer."""
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
