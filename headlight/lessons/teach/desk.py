"""The teacher's desk: a strip below every page of a class, which is refreshed every second.

The class's secret authorises the teacher. It is in the session and in the browser, which sends it to a new session; the
address has the code alone. Every act is checked by the store, which has a hash of the secret.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import streamlit as st
from streamlit import config
from streamlit.url_util import make_url_path

from headlight.app import results, state
from headlight.app.errors import error_text
from headlight.app.results import TranslationRequest
from headlight.app.statics import style
from headlight.app.widgets import is_presented
from headlight.classroom import (
    ClassError,
    Classroom,
    Door,
    NoClassError,
    Phase,
    RateLimit,
    StoreError,
    Tally,
    Teacher,
    door_of,
    network_of,
    open_class,
    open_store,
    own_networks,
    phones_server,
    qr_rows,
    read_code,
)
from headlight.components.show import class_desk
from headlight.language import language
from headlight.plots.tokens import shown_tokens
from transformer.errors import UserError

from ..quiz_bank import bank
from ..step_view import StepView
from ..visit import Destination, Note, change, go_to
from ..words import phrase
from .asking import own_question, question_of, subject_of
from .board import Screen, bars_shown, board, same_before

_say = functools.partial(phrase, "desk")

CLASS = "a class"  # the view of the page of lessons
REFRESH = 1.0  # seconds
STYLE, PRESENTED = (Path(__file__).with_name(f"{name}.css") for name in ("desk", "presented"))
_DESK = "classes_led"  # key of the session: "class" would be the address's name
_MOST_SECRET = 100  # letters
MOST_PER_SESSION, MOST_PER_ADDRESS, PERIOD = 10, 30, 3600.0  # classes that may be opened within so many seconds


@dataclass
class Desk:
    """The classes of a session.

    secrets: by code; bars: the round whose histogram is shown; final: tallies of closed rounds, which stay; reply: to
    the last act; turn: number of acts; moves: the page is to follow; ended: codes whose secrets the browser forgets.
    """

    secrets: dict[str, str] = field(default_factory=dict)
    bars: tuple[str, int] | None = None
    final: dict[tuple[str, int], Tally] = field(default_factory=dict)
    reply: str = ""
    turn: int = 0
    moves: bool = False
    ended: list[str] = field(default_factory=list)
    openings: RateLimit = field(default_factory=lambda: RateLimit(MOST_PER_SESSION, PERIOD))


def _desk() -> Desk:
    return st.session_state.setdefault(_DESK, Desk())


def code_in_address() -> str:
    """Return the code of the class in the address, "" without one."""
    return read_code(state.value("class"))


def open_for(lesson: str, step: int = 0) -> bool:
    """Open a class for a lesson at a step, from 0, and lead it; to be called in a callback.

    Return whether there is one; if not, the next run shows the reason.
    """
    try:
        _limit_openings()
        teacher = open_class(open_store(), lesson, step)
    except ClassError as error:
        change(Note("words", str(error)))
        return False
    _desk().secrets[teacher.code] = teacher.secret
    state.go(**{"class": teacher.code, "present": "1"})
    return True


def _limit_openings() -> None:
    """Raise ClassError where this session or its address has opened too many classes lately."""
    if _desk().openings.is_exceeded("") or _openings().is_exceeded(network_of(st.context.ip_address or "")):
        raise ClassError("Too many classes were opened from here in the last hour. Please continue with one of them.")


@functools.cache
def _openings() -> RateLimit:
    return RateLimit(MOST_PER_ADDRESS, PERIOD)


def tell(words: str) -> None:
    """Show a sentence: to a teacher until the next act, to a visitor for some seconds of the next run."""
    if code_in_address():
        _desk().reply = words
    else:
        change(Note("words", words))


def leading(code: str) -> Teacher | None:
    """Return the teacher of a class where this session has its secret. Raises StoreError."""
    secret = _desk().secrets.get(code) if code else None
    return Teacher(open_store(), code, secret) if secret else None


def leave() -> None:
    """Lead no class any more; to be called in a callback. The class goes on, and the browser has its secret."""
    _desk().secrets.pop(code_in_address(), None)
    state.go(**{"class": "", "present": ""})


def end(teacher: Teacher) -> None:
    """End the class for good; to be called in a callback."""
    try:
        teacher.end()
    except NoClassError:
        pass
    except ClassError as error:
        change(Note("words", str(error)))
        return
    _desk().ended.append(teacher.code)
    leave()


def go_on(code: str) -> None:
    """Open the desk of a class whose secret this browser has; to be called in a callback."""
    state.go(**{"class": read_code(code)})


def ended_codes() -> list[str]:
    """Return the codes of classes that were ended in this session."""
    return _desk().ended


def is_revealed(code: str, view: StepView) -> bool:
    """Return whether the class has seen the answer of a step."""
    try:
        teacher = leading(code)
        classroom = teacher.look().classroom if teacher else None
    except ClassError:
        return False
    current, question = classroom.current if classroom else None, question_of(view)
    if classroom is None or current is None or isinstance(question, str) or classroom.phase != Phase.REVEALED:
        return False
    return (current.step, current.question) == (question.step, question.question)


def show(code: str, screen: Screen) -> None:
    """Show the desk of a class, or a field for the teacher's link where this session lacks the secret."""
    st.html(style(STYLE))
    if is_presented():
        st.html(style(PRESENTED))
    st.fragment(_refresh, run_every=REFRESH)(code, screen)


def screen_of(page: str, request: TranslationRequest, view: StepView | None, *, away: bool = False) -> Screen:
    """Return the teacher's screen; `away`: the page is another one than the step's."""
    try:
        tokens = tuple(shown_tokens(results.trace(request).source_tokens))
    except UserError:
        tokens = ()
    if view is None:
        return Screen(page, request, question=_say("away"), tokens=tokens)
    return Screen(
        page=page,
        request=request,
        lesson=view.lesson.name,
        away=away,
        title=view.lesson.title,
        step=view.number + 1,
        of=len(view.lesson.steps),
        say=view.text(view.step.say),
        question=question_of(view),
        tokens=tokens,
    )


def _refresh(code: str, screen: Screen) -> None:
    """Draw the desk anew: a part of the page that runs by itself and computes nothing."""
    if _desk().moves:
        _desk().moves = False
        st.rerun()
    payload = _payload(code, screen)
    payload |= {"notice": _desk().reply, "turn": _desk().turn, "page": screen.page}
    class_desk(
        payload,
        "class_desk",
        act=lambda act: _act(code, screen, act),
        rights=lambda secret: _take_rights(code, secret),
    )


def _payload(code: str, screen: Screen) -> dict:
    """Return the desk's payload; for a session without the secret nothing but the code, which it has."""
    try:
        teacher = leading(code)
        if teacher is None:
            return {"code": code, "asks": True}
        view = teacher.look()
        bars = _desk().bars == (code, len(view.classroom.rounds))
        before = _final(teacher, view.classroom) if bars_shown(view.classroom, bars) else ()
        content = board(view, screen, before, bars=bars)
    except StoreError:
        return {"code": code, "away": _say("unreachable")}
    except NoClassError as error:
        return {"code": code, "gone": str(error)}
    except ClassError as error:
        _desk().secrets.pop(code, None)
        return {"code": code, "asks": True, "refused": str(error)}
    door = _door(code, phones_server().open)
    return content | {
        "secret": teacher.secret,
        "link": door.link,
        "others": list(door.others),
        "problem": door.problem,
        "qr": list(qr_rows(f"{door.link}?ui={language()}" if door.link else "")),
    }


def _final(teacher: Teacher, classroom: Classroom) -> tuple[Tally, ...]:
    """Return the tallies of the question's earlier rounds, each read once."""
    tallies = _desk().final
    keys = [(teacher.code, each.number) for each in same_before(classroom)]
    tallies |= {key: teacher.tally(key[1]) for key in keys if key not in tallies}
    return tuple(tallies[key] for key in keys)


def door_problem() -> str:
    """Return why no phone could reach a class of this visitor's, "" where phones can."""
    return _door("", lambda: int(phones_server().can_open())).problem


def _door(code: str, open_port: Callable[[], int]) -> Door:
    path = make_url_path(config.get_option("server.baseUrlPath") or "", f"c/{code}")
    listens = config.get_option("server.address") or ""
    # Whatever address a visitor of a proxy claims to have: only this computer's own browsers open a port.
    is_here = st.context.ip_address is None
    return door_of(st.context.url or "", path, listens, _networks(), open_port if is_here else lambda: 0)


@st.cache_data(ttl=30.0, show_spinner=False)
def _networks() -> tuple[str, ...]:
    return own_networks()


def _take_rights(code: str, secret: object) -> None:
    """Accept the browser's secret of this class, if it is right."""
    _desk().turn += 1
    if not isinstance(secret, str) or not 0 < len(secret) <= _MOST_SECRET:
        _desk().reply = _say("no_link")
        return
    try:
        Teacher(open_store(), code, secret).look()
    except ClassError as error:
        _desk().reply = str(error)
        return
    _desk().reply = ""
    _desk().secrets[code] = secret
    _desk().moves = True


def _act(code: str, screen: Screen, act: object) -> None:
    """Do an act of the teacher's, unless the class has changed since: then the screen was late, and shows it next."""
    _desk().turn += 1
    _desk().reply = ""
    if not isinstance(act, Mapping):
        return
    if act.get("name") == "leave":
        leave()
        _desk().moves = True
        return
    try:
        teacher = leading(code)
        if teacher is None:
            return
        classroom = teacher.look().classroom
        if act.get("v") == classroom.version:
            _desk().reply = _do(teacher, classroom, screen, act)
    except ClassError as error:
        _desk().reply = str(error)


def _do(teacher: Teacher, classroom: Classroom, screen: Screen, act: Mapping) -> str:
    """Do an act; return a sentence where it cannot be done. Raises ClassError."""
    match act.get("name"):
        case "ask" if not isinstance(screen.question, str):
            teacher.ask(screen.question.question, screen.question.truth, screen.question.step)
        case "quiz_before" | "quiz_after" as name:
            return _ask_quiz(teacher, name.removeprefix("quiz_"))
        case "own":
            return _ask_own(teacher, screen, act)
        case "close":
            teacher.close_round()
        case "bars" if classroom.phase == Phase.CLOSED:
            _desk().bars = (teacher.code, len(classroom.rounds))
        case "again":
            teacher.ask_again()
        case "reveal":
            _reveal(teacher)
        case "next" if screen.step:
            if classroom.phase in (Phase.ASKING, Phase.CLOSED):
                teacher.discard()
            _go_on(teacher, screen)
        case "back" if classroom.lesson:
            _lead(Destination(classroom.lesson, classroom.step))
        case "discard":
            teacher.discard()
        case "hands":
            return _count_hands(teacher, act.get("hands"))
        case "lock":
            teacher.lock(not classroom.locked)
        case "remove":
            teacher.remove(str(act.get("sign")))
        case "empty":
            teacher.empty()
        case "summary":
            _lead_to_summary()
    return ""


def _ask_own(teacher: Teacher, screen: Screen, act: Mapping) -> str:
    text, options, right = act.get("text"), act.get("options"), act.get("right")
    if not isinstance(text, str) or not isinstance(options, list) or not all(isinstance(each, str) for each in options):
        return _say("no_question")
    question = own_question(text, options, right if isinstance(right, int) else None, screen.page, screen.request)
    if isinstance(question, str):
        return question
    teacher.ask(question.question, question.truth, question.step)
    return ""


def _ask_quiz(teacher: Teacher, when: str) -> str:
    from ..quiz import class_quiz  # imports every measure

    try:
        teacher.ask_quiz(class_quiz(when), bank()["texts"][f"wall_{when}"])
    except UserError as error:
        return error_text(error)
    return ""


def _count_hands(teacher: Teacher, hands: object) -> str:
    if not isinstance(hands, list) or not all(type(each) is int for each in hands):
        return _say("hands")
    teacher.count_hands(tuple(hands))
    return ""


def _reveal(teacher: Teacher) -> None:
    """Reveal the answer to the class, and lead the teacher's page to its figure, for the question's sentence."""
    current = teacher.reveal().current
    lesson, _, number = current.step.rpartition(".") if current else ("", "", "")
    _desk().moves = True
    if current is not None and lesson and number.isdecimal():
        checkpoint, text = subject_of(current)
        _lead(Destination(lesson, int(number) - 1, True, text, checkpoint))


def _go_on(teacher: Teacher, screen: Screen) -> None:
    """Go to the next step, or past the last one to the summary; phones wait."""
    teacher.wait()
    if screen.step < screen.of:
        teacher.go(screen.lesson, screen.step)
        _lead(Destination(screen.lesson, screen.step))
    else:
        _lead_to_summary()


def _lead(destination: Destination) -> None:
    """Lead the teacher's page to a step."""
    go_to(destination)
    _desk().moves = True


def _lead_to_summary() -> None:
    state.leave_for("lessons", lessons=CLASS, lesson="")
    _desk().moves = True
