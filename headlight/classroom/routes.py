"""HTTP routes of phones in a class: a page of a few kilobytes, and the class's state every two seconds.

    GET  /c                       the field for a code
    GET  /c/CODE?ui=de            the page in a language, the same for all
    GET  /c/CODE/state?v=17       204 where version 17 is the newest, else less than 700 bytes of JSON, besides a quiz
    POST /c/CODE/answer           {"round": 3, "choice": 1}; 200 once it is durable, repeated at will
    GET  /c/CODE/try              leads to the app, where the question can be tried, once it is revealed
    POST /c/CODE/answers.csv      the teacher's table; the secret as "Authorization: Bearer SECRET"

A participant is a random number of 64 bits of the browser's. It sends the number as the header `participant`, which no
page of another site can; the store has only a hash with the class's salt. Requests to the store run in threads of their
own, so that a slow disk holds up no visitor.
"""

import asyncio
import base64
import contextlib
import hashlib
import json
import re
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from streamlit import config
from streamlit.url_util import make_url_path

from headlight.language import LANGUAGES, first_known, speaking, texts_of

from .admission import Presence, RateLimit, hash_participant, network_of
from .opening import has_store, open_store
from .quiz import chosen_options
from .store import Answer, Classroom, Kind, NotTheTeacherError, Outcome, Phase, Question, Round, StoreError
from .teaching import Tally, Teacher, read_code, sign_of, tally_of

if TYPE_CHECKING:
    from .sqlite_store import SqliteStore

MOST_BYTES = 700  # of a state, which is less
MOST_BODY = 1000  # bytes
WRONG_CODES, WRONG_SECONDS = 10, 60.0  # of one address, until it has to wait
PURGE = 600.0  # seconds between two looks for classes past their time
_PARTICIPANT = re.compile(r"[0-9a-f]{16}")
_STATUSES = {  # of refusals, whose sentences have the names of their outcomes
    Outcome.LOCKED: 403,
    Outcome.FULL: 403,
    Outcome.REMOVED: 403,
    Outcome.WAITING: 429,
    Outcome.CROWDED: 429,
    Outcome.NO_CLASS: 404,
    Outcome.CLOSED: 409,
    Outcome.TOO_SOON: 429,
}
_FOLDER = Path(__file__).parent
_WORDS = _FOLDER / "texts.toml"


def _words(language: str) -> Mapping[str, Any]:
    with speaking(language):
        return texts_of(_WORDS)


class Refusal(Exception):  # noqa: N818 -- an answer as any other
    """A refused request: a status, and the name of its sentence in texts.toml with what it names."""

    def __init__(self, status: int, name: str, **values: str):
        super().__init__(name)
        self.status, self.name, self.values = status, name, values

    def sentence(self, language: str) -> str:
        """Return the sentence in a language."""
        return str(_words(language)["refused"][self.name]).format(**self.values)


class Page:
    """The student's page as one file, which loads nothing and runs only its own script."""

    def __init__(self, door: str):
        style, script = (self._read(f"student.{kind}") for kind in ("css", "js"))
        self._headers = {
            "Content-Security-Policy": f"default-src 'none'; style-src {_hash_of(style)}; "
            f"script-src {_hash_of(script)}; connect-src 'self'; img-src data:; form-action 'self'; "
            "base-uri 'none'; frame-ancestors 'none'",
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }
        page = self._read("student.html")
        for name, value in {"style": style, "script": script, "door": door}.items():
            page = page.replace(f"{{{{{name}}}}}", value)
        self._pages = {language: _in_language(page, language) for language in LANGUAGES}

    @staticmethod
    def _read(name: str) -> str:
        """Return a file without its indentation and comments of whole lines."""
        lines = [line.strip() for line in (_FOLDER / name).read_text(encoding="utf-8").splitlines()]
        return "\n".join(line for line in lines if not line.startswith("// "))

    def response(self, language: str, *, code: str = "", refusal: Refusal | None = None) -> HTMLResponse:
        """Return the page for a class, or with a sentence above the field for a code. Neither has a sign of HTML's."""
        values = {"code": code, "error": refusal.sentence(language) if refusal else ""}
        page = re.sub(r"\{\{(code|error)\}\}", lambda match: values[match[1]], self._pages[language])
        return HTMLResponse(page, refusal.status if refusal else 200, self._headers)


def _in_language(page: str, language: str) -> str:
    """Return the page in a language, with links to itself in the others."""
    texts = _words(language)
    others = [
        f'<a href="?ui={name}" lang="{name}">{each["name"]}</a>' for name, each in LANGUAGES.items() if name != language
    ]
    values = texts["page"] | {"language": language, "languages": " · ".join(others)}
    values |= {"texts": json.dumps(texts["phone"], ensure_ascii=False).replace("'", "&#39;")}
    for name, value in values.items():
        page = page.replace(f"{{{{{name}}}}}", value)
    return page


class Desk:
    """Handlers of the routes, each in a thread."""

    def __init__(self, door: str, store: Callable[[], "SqliteStore"] = open_store, *, with_app: bool = True):
        self.door, self.page, self._open, self._with_app = door, Page(door), store, with_app
        self._wrong, self._opening = RateLimit(WRONG_CODES, WRONG_SECONDS), threading.Lock()
        self._presence: Presence | None = None
        self._threads = ThreadPoolExecutor(8, "classroom")
        self._final_tally = lru_cache(maxsize=1000)(self._tally)

    async def run(self, request: Request, function: Callable[..., Response], *arguments: object) -> Response:
        """Run a handler; a refusal is its answer."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, partial(function, *arguments))
        except Refusal as refusal:
            return _refused(request, refusal)
        except StoreError:
            return _refused(request, Refusal(503, "unreachable"))

    @property
    def store(self) -> "SqliteStore":
        """Return the store, which is opened by the first request for a class."""
        return self._open()

    @property
    def presence(self) -> Presence:
        """Return the presence of participants."""
        with self._opening:
            if self._presence is None:
                self._presence = Presence(self.store)
            return self._presence

    def enter(self, code: str, address: str, language: str, chosen: str = "") -> Response:
        """Return the page for a code, as it was typed, in a language. chosen: the part of the address that says it."""
        try:
            classroom = self._find(code, address)
        except Refusal as refusal:
            return self.page.response(language, refusal=refusal)
        except StoreError:
            return self.page.response(language, refusal=Refusal(503, "unreachable"))
        if classroom.code != code:
            return RedirectResponse(f"{self.door}/{classroom.code}{chosen}", 303)
        return self.page.response(language, code=classroom.code)

    def _find(self, code: str, address: str) -> Classroom:
        """Return the class of a code. Raises Refusal."""
        read = read_code(code)
        classroom = self.store.read(read) if read else None
        if classroom is None:
            limited = self._wrong.is_exceeded(address)
            if limited:
                raise Refusal(429, "wait")
            raise Refusal(404, "no_such_class", code=read) if read else Refusal(404, "no_code")
        if classroom.phase == Phase.ENDED:
            raise Refusal(410, "no_class")
        return classroom

    def state(self, code: str, address: str, number: str, known: int) -> Response:
        """Return a class's state to a participant, who knows a version of it."""
        classroom = self._find(code, address)
        participant = self._admitted(classroom, number, address)
        if known == classroom.version:
            return Response(status_code=204, headers=_NO_STORE)
        current = classroom.current
        choice = self.store.answer_of(classroom.code, current.number, participant) if current else None
        is_revealed = current is not None and classroom.phase == Phase.REVEALED
        tally = self._final_tally(classroom.code, current) if current and is_revealed else None
        state = state_of(classroom, choice, tally, known, sign_of(participant))
        state |= {"try": state["try"] and self._with_app} if "try" in state else {}
        state |= current.quiz.payload_for(participant) if current and current.quiz and "kind" in state else {}
        return JSONResponse(state, headers=_NO_STORE)

    def _tally(self, code: str, closed: Round) -> Tally:
        return tally_of(closed, self.store.answers(code, closed.number))

    def answer(self, code: str, address: str, number: str, body: object) -> Response:
        """Keep an answer."""
        classroom = self._find(code, address)
        current = classroom.current
        if not isinstance(body, dict) or type(body.get("round")) is not int:
            raise Refusal(400, "no_answer")
        if current is None or current.number != body["round"]:
            raise refusal_of(Outcome.CLOSED)
        try:
            choice = current.read_choice(body.get("choice"))
        except ValueError:
            raise Refusal(400, "other_question") from None
        participant = self._admitted(classroom, number, address)
        answer = Answer(round=current.number, participant=participant, choice=choice, at=self.store.now())
        self._let_pass(self.store.answer(classroom.code, answer))
        return JSONResponse({"choice": choice}, headers=_NO_STORE)

    def _admitted(self, classroom: Classroom, number: str, address: str) -> str:
        """Return a participant's hashed number once they are in. Raises Refusal."""
        participant = hash_participant(classroom, number)
        self._let_pass(self.presence.enter(classroom, participant, address))
        return participant

    @staticmethod
    def _let_pass(outcome: Outcome) -> None:
        if outcome != Outcome.KEPT:
            raise refusal_of(outcome)

    def try_it(self, code: str, address: str) -> Response:
        """Redirect to the app's page of the question."""
        classroom = self._find(code, address)
        current = classroom.current
        if current is None or classroom.phase != Phase.REVEALED or not current.truth.link:
            raise Refusal(404, "nothing_to_try")
        page, _, query = current.truth.link.partition("?")
        left = [(name, value) for name, value in parse_qsl(query) if name != "present"]
        return RedirectResponse(f"{self.door[: -len('c')]}{page}{'?' if left else ''}{urlencode(left)}", 303)

    def table(self, code: str, address: str, secret: str) -> Response:
        """Return the teacher's table."""
        classroom = self._find(code, address)
        try:
            content = Teacher(self.store, classroom.code, secret).csv()
        except NotTheTeacherError:
            raise Refusal(403, "not_the_teacher") from None
        headers = {**_NO_STORE, "Content-Disposition": f'attachment; filename="class-{classroom.code}.csv"'}
        return Response(content, media_type="text/csv", headers=headers)


def state_of(
    classroom: Classroom, choice: str | None, tally: Tally | None, known: int, sign: str = ""
) -> dict[str, object]:
    """Return a class's state for a phone that knows a version of it, 0 for none. sign: of the participant.

    A known question is left out; texts that are too long are cut: the wall has them whole. Nothing of the truth is in
    it before the phase REVEALED. A phone that missed the question gets it first, as of an older version, and asks for
    the rest at once.
    """
    state: dict[str, object] = {"v": classroom.version, "phase": str(classroom.phase), "me": sign}
    current = classroom.current
    if current is None:
        return state
    question = current.question
    state |= {"round": current.number, "yours": None if choice is None else _as_sent(question, choice)}
    if not current.version <= known <= classroom.version:
        state |= {"kind": str(question.kind), "text": question.text, "options": list(question.options)}
        state |= {"about": question.about} if question.about else {}
        if classroom.phase == Phase.REVEALED:
            state |= {"v": current.version, "phase": str(Phase.CLOSED), "more": True}
    elif classroom.phase == Phase.REVEALED and tally is not None:
        truth = current.truth
        state |= {"counts": tally.counts, "n": tally.answered, "right": truth.right, "near": tally.right}
        state |= {"feedback": truth.feedback_on(question, choice), "try": bool(truth.link)}
    return _fitted(state)


def _as_sent(question: Question, choice: str) -> object:
    """Return a stored choice as the page sends it."""
    if question.kind == Kind.QUIZ:
        return chosen_options(choice)
    chosen = question.chosen(choice)
    return float(choice) if question.kind == Kind.NUMBER else chosen[0] if question.kind == Kind.ONE else chosen


_TEXTS = ("text", "about", "feedback")  # of a state, which may be cut


def _fitted(state: dict[str, object]) -> dict[str, object]:
    """Return a state whose texts are cut, the longest first, until it is short enough."""
    options = state.get("options")
    labels = options if isinstance(options, list) else []
    cut, most = state, max(len(text) for text in (*(str(state.get(name, "")) for name in _TEXTS), *labels))
    while len(json.dumps(cut, ensure_ascii=False, separators=(",", ":")).encode()) >= MOST_BYTES:
        most -= 1
        cut = state | {name: _cut(str(state[name]), most) for name in _TEXTS if name in state}
        cut |= {"options": [_cut(each, most) for each in labels]} if labels else {}
    return cut


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(most - 1, 0)]}…"


def class_routes(store: Callable[[], "SqliteStore"] = open_store, *, with_app: bool = True) -> list[Route]:
    """Return the routes below the server's base path, beside those of the app.

    with_app: phones reach the app as well; without it nothing leads there, and the teacher's table is left out.
    """
    door = make_url_path(config.get_option("server.baseUrlPath") or "", "c")
    desk = Desk(door, store, with_app=with_app)

    async def open_page(request: Request) -> Response:
        code = request.path_params.get("code", request.query_params.get("code"))
        language = _language(request)
        if code is None:
            return desk.page.response(language)
        chosen = f"?ui={language}" if "ui" in request.query_params else ""
        return await desk.run(request, desk.enter, code[:40], _address(request), language, chosen)

    async def state(request: Request) -> Response:
        known = request.query_params.get("v", "0")
        if not _is_participant(request) or not re.fullmatch(r"[0-9]{1,9}", known, re.ASCII):
            return _refused(request, Refusal(400, "no_question"))
        return await desk.run(request, desk.state, *_who(request), int(known))

    async def answer(request: Request) -> Response:
        if not _is_participant(request):
            return _refused(request, Refusal(400, "no_answer"))
        try:
            body = json.loads(await _read_body(request))
        except Refusal as refusal:
            return _refused(request, refusal)
        except (ValueError, RecursionError):
            return _refused(request, Refusal(400, "no_answer"))
        return await desk.run(request, desk.answer, *_who(request), body)

    async def try_it(request: Request) -> Response:
        return await desk.run(request, desk.try_it, request.path_params["code"], _address(request))

    async def table(request: Request) -> Response:
        secret = request.headers.get("authorization", "").removeprefix("Bearer ")
        return await desk.run(request, desk.table, request.path_params["code"], _address(request), secret)

    async def nothing(request: Request) -> Response:
        return desk.page.response(_language(request), refusal=Refusal(404, "no_page"))

    app_routes = [
        Route(f"{door}/{{code}}/try", try_it),
        Route(f"{door}/{{code}}/answers.csv", table, methods=["POST"]),
    ]
    return [
        Route(door, open_page),
        Route(f"{door}/{{code}}", open_page),
        Route(f"{door}/{{code}}/state", state),
        Route(f"{door}/{{code}}/answer", answer, methods=["POST"]),
        *(app_routes if with_app else []),
        Route(f"{door}/{{rest:path}}", nothing, methods=["GET", "POST"]),
    ]


@contextlib.asynccontextmanager
async def housekeeping() -> AsyncIterator[None]:
    """Delete classes past their time every ten minutes while the server runs, also those of an earlier server."""

    def purge() -> None:
        with contextlib.suppress(StoreError):
            if has_store():
                open_store().purge()

    async def keep_purging() -> None:
        while True:
            await asyncio.sleep(PURGE)
            await asyncio.to_thread(purge)

    task = asyncio.create_task(keep_purging())
    try:
        yield
    finally:
        task.cancel()


_NO_STORE = {"Cache-Control": "no-store"}


def refusal_of(outcome: Outcome) -> Refusal:
    """Return the refusal of an answer, or of an attempt to join."""
    return Refusal(_STATUSES[outcome], outcome.value.replace(" ", "_"))


def _refused(request: Request, refusal: Refusal) -> Response:
    headers = {**_NO_STORE, **({"Retry-After": "1"} if refusal.status in (429, 503) else {})}
    return JSONResponse({"error": refusal.sentence(_language(request))}, refusal.status, headers)


def _language(request: Request) -> str:
    """Return the language of the page: the address's, else the browser's."""
    accepted = request.headers.get("accept-language", "").split(",")
    return first_known(request.query_params.get("ui", ""), *map(str.strip, accepted))


def _address(request: Request) -> str:
    """Return the key of a request's address for limits."""
    return network_of(request.client.host if request.client else "")


def _is_participant(request: Request) -> bool:
    return _PARTICIPANT.fullmatch(request.headers.get("participant", "")) is not None


def _who(request: Request) -> tuple[str, str, str]:
    return request.path_params["code"], _address(request), request.headers["participant"]


async def _read_body(request: Request) -> bytes:
    """Return a short body. Raises Refusal."""
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > MOST_BODY:
                raise Refusal(413, "too_long")
    except ClientDisconnect:
        raise Refusal(400, "half") from None
    return body


def _hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
