"""The teacher's desk: a strip below every page while she leads a class, which looks for answers every second.

What she may do stands on the class's secret. It is in her session and in her browser, which gives it to a new session
of hers; the address has the code alone. Every act asks the store, which knows a hash of it.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit import config
from streamlit.url_util import make_url_path

from headlight.app import results, url_state
from headlight.app.results import TranslationRequest
from headlight.app.statics import style
from headlight.app.widgets import is_presented, plain
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
    qr_rows,
    read_code,
)
from headlight.components.show import class_desk
from headlight.plots.tokens import shown_tokens
from transformer.errors import UserError

from ..posed import Posed
from .asking import asked_about, own_question, question_of
from .board import Place, bars_shown, board, same_before

REFRESH = 1.0  # seconds
STYLE, PRESENTED = (Path(__file__).with_name(f"{name}.css") for name in ("desk", "presented"))
# In the session: the secrets by code; the round whose histogram is wanted; tallies of closed rounds, which stay; the
# sentence that the last act came to; how many acts were done; whether the page is to follow.
_SECRETS, _BARS, _FINAL = "class_secrets", "class_bars", "class_final"
_SAID, _TURN, _MOVES = "class_said", "class_turn", "class_moves"
_REFUSED = "class_refused"  # why there is no class, until it is said
_FORGET = "class_forget"  # codes of classes that are over: the browser forgets their secrets
_OPENED = "class_opened"  # limit of classes that are opened here
_MOST_SECRET = 100  # letters
MOST_PER_SESSION, MOST_PER_ADDRESS, PERIOD = 10, 30, 3600.0  # classes that may be opened within so many seconds


@dataclass(frozen=True)
class Ways:
    """Where the desk leads the page: to a lesson's step, from 0, its answer shown or not, or to the summary.

    `go` also takes the text and the checkpoint that the page is to have, "" for those of the bar.
    """

    go: Callable[[str, int, bool, str, str], None]
    summary: Callable[[], None]


def code_in_address() -> str:
    """Return the code of the class whose teacher this page is for, "" where it is for none."""
    return read_code(url_state.read("class"))


def open_for(lesson: str, step: int = 0) -> bool:
    """Open a class for a lesson at a step, from 0, and lead it from now on; to be called in a callback.

    Returns whether there is one; if not, `show_refusal` says why.
    """
    try:
        _limit_openings()
        teacher = open_class(open_store(), lesson, step)
    except ClassError as error:
        st.session_state[_REFUSED] = str(error)
        return False
    _secrets()[teacher.code] = teacher.secret
    url_state.write("class", teacher.code)
    url_state.write("present", "1")
    return True


def _limit_openings() -> None:
    """Raise ClassError where this session or its address has opened too many classes lately."""
    session = st.session_state.setdefault(_OPENED, RateLimit(MOST_PER_SESSION, PERIOD))
    if session.is_exceeded("") or _openings().is_exceeded(network_of(st.context.ip_address or "")):
        raise ClassError("Too many classes were opened from here within an hour: please go on with one of them.")


@functools.cache
def _openings() -> RateLimit:
    return RateLimit(MOST_PER_ADDRESS, PERIOD)


def show_refusal() -> None:
    """Say once why there is no class."""
    if said := st.session_state.pop(_REFUSED, ""):
        st.toast(plain(said), icon=":material/warning:", duration="long")


def tell(words: str) -> None:
    """Say a sentence to the teacher until the next act."""
    st.session_state[_SAID] = words


def leading(code: str) -> Teacher | None:
    """Return the teacher of a class where this session has its secret. Raises StoreError."""
    secret = _secrets().get(code) if code else None
    return Teacher(open_store(), code, secret) if secret else None


def leave() -> None:
    """Lead no class any more; to be called in a callback. The class goes on, and the browser has its secret."""
    _secrets().pop(code_in_address(), None)
    url_state.write("class", "")
    url_state.write("present", "")


def end(teacher: Teacher) -> None:
    """End the class for good; to be called in a callback."""
    try:
        teacher.end()
    except NoClassError:
        pass
    except ClassError as error:
        st.session_state[_REFUSED] = str(error)
        return
    st.session_state.setdefault(_FORGET, []).append(teacher.code)
    leave()


def go_on(code: str) -> None:
    """Lead a class whose secret this browser has; to be called in a callback."""
    url_state.write("class", read_code(code))


def ended_codes() -> list[str]:
    """Return the codes of classes that were ended in this session."""
    return st.session_state.get(_FORGET, [])


def _secrets() -> dict[str, str]:
    return st.session_state.setdefault(_SECRETS, {})


def is_revealed(code: str, posed: Posed) -> bool:
    """Return whether the class has seen the answer of a step."""
    try:
        teacher = leading(code)
        classroom = teacher.look().classroom if teacher else None
    except ClassError:
        return False
    if classroom is None:
        return False
    current, asked = classroom.current, question_of(posed)
    if current is None or isinstance(asked, str) or classroom.phase != Phase.REVEALED:
        return False
    return (current.step, current.question) == (asked.step, asked.question)


def show(code: str, place: Place, ways: Ways) -> None:
    """Show the desk of a class, or whom it is for where this session lacks the secret."""
    st.html(style(STYLE))
    if is_presented():
        st.html(style(PRESENTED))
    st.fragment(_refresh, run_every=REFRESH)(code, place, ways)


def place_on(page: str, request: TranslationRequest, posed: Posed | None, *, away: bool = False) -> Place:
    """Return where the teacher's page is; `away` says that it shows something else than its step's figure."""
    try:
        tokens = tuple(shown_tokens(results.trace(request).source_tokens))
    except UserError:
        tokens = ()
    if posed is None:
        return Place(page, request, question="Go back to the lesson to ask its questions.", tokens=tokens)
    return Place(
        page=page,
        request=request,
        lesson=posed.lesson.name,
        away=away,
        title=posed.lesson.title,
        step=posed.number + 1,
        of=len(posed.lesson.steps),
        say=posed.text(posed.step.say),
        question=question_of(posed),
        tokens=tokens,
    )


def _refresh(code: str, place: Place, ways: Ways) -> None:
    """Draw the desk anew: a part of the page that runs by itself and computes nothing."""
    if st.session_state.pop(_MOVES, False):
        st.rerun()
    payload = _payload(code, place)
    payload |= {"said": st.session_state.get(_SAID, ""), "turn": st.session_state.get(_TURN, 0), "page": place.page}
    class_desk(
        payload,
        "class_desk",
        act=lambda act: _act(code, place, ways, act),
        rights=lambda given: _take_rights(code, given),
    )


def _payload(code: str, place: Place) -> dict:
    """Return what the desk shows. Who lacks the secret gets nothing of the class but the code, which they have."""
    try:
        teacher = leading(code)
        if teacher is None:
            return {"code": code, "asks": True}
        view = teacher.look()
        bars = st.session_state.get(_BARS) == (code, len(view.classroom.rounds))
        before = _final(teacher, view.classroom) if bars_shown(view.classroom, bars) else ()
        content = board(view, place, before, bars=bars)
    except StoreError:
        return {"code": code, "away": "The class cannot be reached: trying again. No answer that was sent is lost."}
    except NoClassError as error:
        return {"code": code, "gone": str(error)}
    except ClassError as error:
        _secrets().pop(code, None)
        return {"code": code, "asks": True, "refused": str(error)}
    door = _door(code)
    return content | {
        "secret": teacher.secret,
        "link": door.link,
        "others": list(door.others),
        "problem": door.problem,
        "qr": list(qr_rows(door.link)),
    }


def _final(teacher: Teacher, classroom: Classroom) -> tuple[Tally, ...]:
    """Return what was answered when the question was asked before, read once."""
    kept = st.session_state.setdefault(_FINAL, {})
    for each in same_before(classroom):
        key = (teacher.code, each.number)
        if key not in kept:
            kept[key] = teacher.tally(each.number)
    return tuple(kept[teacher.code, each.number] for each in same_before(classroom))


def _door(code: str) -> Door:
    path = make_url_path(config.get_option("server.baseUrlPath") or "", f"c/{code}")
    return door_of(st.context.url or "", path, config.get_option("server.address") or "", _networks())


@st.cache_data(ttl=30.0, show_spinner=False)
def _networks() -> tuple[str, ...]:
    return own_networks()


def _take_rights(code: str, given: object) -> None:
    """Take the secret that the browser has of this class, if it is right."""
    st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1
    if not isinstance(given, str) or not 0 < len(given) <= _MOST_SECRET:
        st.session_state[_SAID] = "This is no teacher link."
        return
    try:
        Teacher(open_store(), code, given).look()
    except ClassError as error:
        st.session_state[_SAID] = str(error)
        return
    st.session_state[_SAID] = ""
    _secrets()[code] = given
    st.session_state[_MOVES] = True


def _act(code: str, place: Place, ways: Ways, act: object) -> None:
    """Do what she wants, unless the class has changed since she saw it: then her screen was late, and shows it next."""
    st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1
    st.session_state[_SAID] = ""
    if not isinstance(act, Mapping):
        return
    if act.get("name") == "leave":
        leave()
        st.session_state[_MOVES] = True
        return
    try:
        teacher = leading(code)
        if teacher is None:
            return
        classroom = teacher.look().classroom
        if act.get("v") == classroom.version:
            st.session_state[_SAID] = _do(teacher, classroom, place, ways, act)
    except ClassError as error:
        st.session_state[_SAID] = str(error)


def _do(teacher: Teacher, classroom: Classroom, place: Place, ways: Ways, act: Mapping) -> str:
    """Do an act; returns a sentence where it cannot be done. Raises ClassError."""
    match act.get("name"):
        case "ask" if not isinstance(place.question, str):
            teacher.ask(place.question.question, place.question.truth, place.question.step)
        case "own":
            return _ask_own(teacher, place, act)
        case "close":
            teacher.close_round()
        case "bars" if classroom.phase == Phase.CLOSED:
            st.session_state[_BARS] = (teacher.code, len(classroom.rounds))
        case "again":
            teacher.ask_again()
        case "reveal":
            _reveal(teacher, ways)
        case "next" if place.step:
            if classroom.phase in (Phase.ASKING, Phase.CLOSED):
                teacher.discard()
            _go_on(teacher, place, ways)
        case "back" if classroom.lesson:
            ways.go(classroom.lesson, classroom.step, False, "", "")
            st.session_state[_MOVES] = True
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
            ways.summary()
            st.session_state[_MOVES] = True
    return ""


def _ask_own(teacher: Teacher, place: Place, act: Mapping) -> str:
    text, options, right = act.get("text"), act.get("options"), act.get("right")
    if not isinstance(text, str) or not isinstance(options, list) or not all(isinstance(each, str) for each in options):
        return "This is no question."
    asked = own_question(text, options, right if isinstance(right, int) else None, place.page, place.request)
    if isinstance(asked, str):
        return asked
    teacher.ask(asked.question, asked.truth, asked.step)
    return ""


def _count_hands(teacher: Teacher, hands: object) -> str:
    if not isinstance(hands, list) or not all(type(each) is int for each in hands):
        return "Hands are counted in whole numbers."
    teacher.count_hands(tuple(hands))
    return ""


def _reveal(teacher: Teacher, ways: Ways) -> None:
    """Show the class what is right, and lead her page to where it is seen, of the sentence that was asked about."""
    current = teacher.reveal().current
    lesson, _, number = current.step.rpartition(".") if current else ("", "", "")
    if current is not None and lesson and number.isdecimal():
        checkpoint, text = asked_about(current)
        ways.go(lesson, int(number) - 1, True, text, checkpoint)
    st.session_state[_MOVES] = True


def _go_on(teacher: Teacher, place: Place, ways: Ways) -> None:
    """Go to the next step, or past the last one to the summary; phones wait."""
    teacher.wait()
    if place.step < place.of:
        teacher.go(place.lesson, place.step)
        ways.go(place.lesson, place.step, False, "", "")
    else:
        ways.summary()
    st.session_state[_MOVES] = True
