"""Panel of a visitor's lesson: the step in the address, drawn with the state of `visit`, and what the visitor does.

The panel is drawn before the page. Going to a step changes page and address in one (`state.open_page`).
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NoReturn

import streamlit as st

from headlight.app import bar, results, state
from headlight.app.errors import error_text
from headlight.app.parameters import PARAMETERS
from headlight.app.results import TranslationRequest
from headlight.app.statics import style
from headlight.app.widgets import is_presented
from headlight.components.show import lesson_panel
from transformer.errors import UserError

from .answer import Kind, Run
from .file import Lesson
from .sentence import all_sentences, pose_step, reason_words, step_sentences, walk
from .step_view import StepView, payload_of, pose
from .teach import desk
from .visit import (
    LESSONS_PAGE,
    Choose,
    Destination,
    Do,
    Hint,
    Move,
    Note,
    Restore,
    Show,
    Try,
    begin,
    change,
    go_to,
    lessons,
    page_name,
    pages_of,
    step_in_address,
    visit,
)
from .words import phrase

STYLE, DOCKED = (Path(__file__).with_name(f"{name}.css") for name in ("panel", "docked"))
# In a step's veil: properties that the components read. The words whose lines are hidden can still be clicked.
_LINES = "--answers: hidden; --aside: none; --pointing: none; --lines-apart: 4rem"
OF_FINDINGS = {"findings": "--findings: blur(9px)", "more": "--more: blur(9px)", "lines": _LINES}
TO_LIST, TO_NEXT = -2, -3  # numbers that panel.js sends in place of a step; -1 leaves the lesson
_NO_HANDLERS: dict[str, Any] = dict.fromkeys(("choose", "hint", "show", "go", "restore"), lambda *_: None)


def open_destination(lesson: Lesson, destination: Destination, request: TranslationRequest) -> NoReturn:
    """End this run and open a lesson's step."""
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
    change(Move())
    state.open_page((destination.shown and view.step.show_page) or view.step.page, **values)


def _view_at(lesson: Lesson, destination: Destination, request: TranslationRequest) -> StepView:
    """Return the step of a destination; where the lesson begins, with the sentence that `sentence.walk` chooses."""
    number = min(destination.step, len(lesson.steps) - 1)
    if not destination.begins:
        with suppress(UserError):  # the text cannot be translated: the lesson's own can
            return _pose(lesson, number, request)
    change(Note("sentence", ""))
    view = next(islice(walk(lesson, request), number, None))
    if view.run.request.text != request.text != PARAMETERS["text"].default:
        reason = reason_words(lesson, request)
        desk.tell(phrase("panel", "about", reason=reason, text=view.run.request.text))
    return view


def _pose(lesson: Lesson, number: int, request: TranslationRequest) -> StepView:
    """Return a step for the visitor's sentence, or for the first of the lesson's sentences that decides its question.

    Where the visitor's sentence does not decide the question, the panel gives the reason. Opening the step again takes
    the lesson's sentence; the next step returns to the visitor's, which the session stores meanwhile.
    """
    is_again = step_in_address() == (lesson, number)
    visitors = request.text if request.text not in all_sentences(lesson) else ""
    if not visitors and not is_again:
        visitors = visit().sentence
        change(Note("sentence", ""))
    if visitors:
        view = pose(lesson, number, Run(replace(request, text=visitors), _address()))
        sentences = step_sentences(lesson, number, request)
        if not (view.undecided and is_again and sentences):
            return view
        change(Note("sentence", visitors))
        request = replace(request, text=sentences[0])
    return pose_step(lesson, number, Run(request, _address()))


def _defaults(lesson: Lesson) -> dict[str, str]:
    """Return the defaults of all parameters that a step of the lesson sets."""
    names = {name for step in lesson.steps for name in (*step.at, *step.show)} - {"text", "lesson"}
    defaults = {name: PARAMETERS[name].default for name in names}
    return {name: str(value) for name, value in defaults.items() if isinstance(value, (str, int, float))}


def _address() -> dict[str, str]:
    """Return the values of the page."""
    return state.current().all_values


def show(request: TranslationRequest) -> None:
    """Show the step in the address, or the lesson's end; in a class, the teacher's desk."""
    lesson, number = step_in_address()
    code = desk.code_in_address()
    if page_name() == LESSONS_PAGE and not visit().is_restored and not code:
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
    of_visit = {"present": presented, "known": visit().is_restored, "turn": visit().moves}
    handlers = _NO_HANDLERS | {"go": lambda step: _go(lesson, step), "restore": _restore}
    if number == len(lesson.steps):
        lesson_panel(end_of(lesson) | of_visit, "lesson_panel", **handlers)
        return
    view = _pose_addressed(lesson, number, request)
    if view.answer and view.answer.kind == Kind.DO and view.answer.done:
        change(Do(view.key))
    tried = visit().tried(view.key)
    _follow_sentence(view, shown=tried.is_over)
    _veil(view, lifted=tried.is_over)
    # "again": an open question that was answered for another sentence or another model.
    is_again = not tried.is_over and number + 1 in visit().answered(lesson.name)
    handlers |= {
        "choose": lambda choice: _choose(view, choice),
        "hint": lambda: change(Hint(view.key, len(view.hints()))),
        "show": lambda: _show(view),
    }
    payload = payload_of(view, tried) | of_visit | {"away": _is_away(view), "again": is_again}
    lesson_panel(payload, "lesson_panel", **handlers)


def _follow_sentence(view: StepView, *, shown: bool) -> None:
    """Rerun with the heads and positions of a new sentence, where the sentence has changed on the same step."""
    before = visit().question
    change(Note("question", view.key))
    step, address = view.step, view.address(shown=shown) or {}
    values = {name: value for name, value in address.items() if value not in (step.at.get(name), step.show.get(name))}
    is_other = view.key != before and before.startswith(f"{view.address_of_step} ")
    page = (shown and step.show_page) or step.page
    if values and is_other and page == page_name():
        state.open_page(page, **values)


def _pose_addressed(lesson: Lesson, number: int, request: TranslationRequest) -> StepView:
    """Return a step for the request's sentence, undecided with the reason where it cannot be translated."""
    try:
        return pose(lesson, number, Run(request, _address()))
    except UserError as error:
        return StepView(lesson, number, Run(request), undecided=error_text(error))


def _show_desk(code: str, request: TranslationRequest, lesson: Lesson | None, number: int | None) -> None:
    """Show the teacher's desk of a class, with the question of the step in the address, if any."""
    if lesson is None or number is None or number >= len(lesson.steps):
        desk.show(code, desk.screen_of(page_name(), request, None))
        return
    view = _pose_addressed(lesson, number, request)
    is_revealed = desk.is_revealed(code, view)
    _follow_sentence(view, shown=is_revealed)
    _veil(view, lifted=is_revealed)
    desk.show(code, desk.screen_of(page_name(), request, view, away=_is_away(view)))


def _veil(view: StepView, *, lifted: bool) -> None:
    """Blur the containers of `cover`, and those of `veil` until it is lifted.

    Of the token lines only lines and numbers are hidden; the sentence stays readable.
    """
    for key in view.step.cover + (() if lifted else view.step.veil):
        blur = f".st-key-{key} {{ filter: blur(9px); pointer-events: none; user-select: none; }}"
        style = f"html {{ {OF_FINDINGS[key]}; }}" if key in OF_FINDINGS else blur
        st.html(f"<style>{style}</style>")


def end_of(lesson: Lesson) -> dict:
    """Return the panel's payload after the last step: the goal, the score, and the next lesson."""
    following, answered = _following(lesson), visit().answered(lesson.name)
    still_open = [number for number in lesson.questions if number not in answered]
    return {
        "key": f"{lesson.name} end",
        "title": lesson.title,
        "step": len(lesson.steps) + 1,
        "of": len(lesson.steps),
        "say": [("strong", phrase("panel", "end")), ("", lesson.closing or lesson.goal)],
        "score": _score(len(lesson.questions) - len(still_open), len(lesson.questions)),
        "open": still_open,
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
    name = "all_right" if right == questions else "some_right" if right else "none_right"
    return phrase("panel", name, right=right, questions=questions)


def _is_away(view: StepView) -> bool:
    """Return whether the page is another one than the step's."""
    return page_name() not in pages_of(view.lesson, view.number)


def _choose(view: StepView, choice: object) -> None:
    """Judge a choice; show the figure of a right one: of an action it shows the result already."""
    if view.answer:
        tried = change(Choose(view.key, choice, view.answer.is_right(choice))).tried(view.key)
        if tried.right and view.answer.kind != Kind.DO:
            _show_figure(view)


def _restore(remembered: Mapping[str, object]) -> None:
    change(Restore(remembered))


def _show(view: StepView) -> None:
    """Reveal the answer in the panel and in the figure."""
    change(Show(view.key))
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
