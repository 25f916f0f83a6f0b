"""Nobody without the teacher's secret reveals, ends, asks, or reads a class: tried over the app's own websocket."""

import os
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import AsyncExitStack

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from support.server import ROOT, free_port, serve
from support.visitors import aside

from benchmarks.websocket_visitor import Run, WebsocketVisitor
from headlight.classroom import FILE_VARIABLE, Phase, Question, Teacher, Truth, open_class
from headlight.classroom.sqlite_store import SqliteStore
from headlight.classroom.store import Answer
from headlight.lessons.teach import desk

DESK = "class_desk"
QUESTION = Question("Whose question is this?", ("the teacher's", "somebody's"))
TRUTH = Truth("It is hers alone.", right=(0,))
WHO = "5f0c93d2a1"
ACTS = ("ask", "own", "close", "bars", "again", "reveal", "next", "back", "discard", "hands", "lock", "summary")


class Listener(WebsocketVisitor):
    """A visitor who keeps all that the server says."""

    heard = b""

    def _over(self, data: bytes, run: Run) -> bool:
        self.heard += data
        return super()._over(data, run)

    @property
    def desk(self) -> dict:
        return self.components[DESK].data

    async def act(self, name: str, **more: object) -> Run:
        return await self.report(DESK, "act", {"name": name, "v": self.desk.get("v", 2), **more})

    async def push(self, button: str) -> Run:
        """Report that a button was pressed, by its id, whether the page has it or not."""
        message = BackMsg()
        message.CopyFrom(self._last)
        state = message.rerun_script.widget_states.widgets.add()
        state.id, state.trigger_value = button, True
        return await self._run(message)


@pytest.fixture
def teacher(store) -> Teacher:
    """Of a class that has a question, closed, with one answer."""
    found = open_class(store, "attention", 1)
    found.ask(QUESTION, TRUTH, "attention.2")
    store.answer(found.code, Answer(round=1, participant=WHO, choice="0", at=store.now()))
    found.close_round()
    return found


async def arrive(stack: AsyncExitStack, school: str, code: str, page: str = "decoding", **more: str) -> Listener:
    visitor = await stack.enter_async_context(Listener(school, page))
    run = await visitor.arrive(**{"class": code, **more})
    assert not run.exceptions
    return visitor


def told(visitor: Listener, teacher: Teacher) -> list[str]:
    """What of the class a visitor heard that is not for them."""
    secrets = (teacher.secret, QUESTION.text, QUESTION.options[1], TRUTH.sentence, WHO, "Answers as CSV")
    return [each for each in secrets if each.encode() in visitor.heard]


def test_without_the_secret_nothing_is_told_and_nothing_done(school, store, teacher):
    async def intrude() -> None:
        before = store.read(teacher.code)
        async with AsyncExitStack() as stack:
            own = open_class(store)
            for page, more in (("decoding", {"lesson": "attention.2"}), ("lessons", {"lessons": "a class"})):
                visitor = await arrive(stack, school, teacher.code, page, **more)
                assert visitor.desk["asks"] and set(visitor.desk) == {"code", "asks", "said", "turn", "page"}
                for name in ACTS:
                    run = await visitor.act(name, text="Mine?", options=["a", "b"], right=0, hands=[9, 9])
                    assert not run.exceptions
                for secret in (own.secret, teacher.secret[:-1], "", " ", "x" * 5000, None, 3, [teacher.code], {"a": 1}):
                    run = await visitor.report(DESK, "rights", secret)
                    assert not run.exceptions and visitor.desk["said"] and visitor.desk["asks"], secret
                    await visitor.act("reveal")
                for strange in (None, "reveal", 7, ["reveal"], {"name": ["reveal"]}, {"name": "reveal", "v": "2"}):
                    assert not (await visitor.report(DESK, "act", strange)).exceptions
                assert told(visitor, teacher) == []
                assert store.read(teacher.code) == before

    aside(intrude()).result()


def test_the_teacher_herself_is_told_and_obeyed_and_a_button_of_hers_is_nobody_elses(school, store, teacher):
    async def lead() -> None:
        async with AsyncExitStack() as stack:
            hers = await arrive(stack, school, teacher.code, "lessons", lessons="a class")
            other = await arrive(stack, school, teacher.code, "lessons", lessons="a class")
            run = await hers.report(DESK, "rights", teacher.secret)
            assert not run.exceptions and hers.desk["asked"]["text"] == QUESTION.text
            assert {QUESTION.text, "Answers as CSV"} <= set(told(hers, teacher))
            assert TRUTH.sentence.encode() not in hers.heard, "nor to her screen before it is to be seen"

            await other.push(hers._buttons["Delete it now"])
            assert store.read(teacher.code).phase == Phase.CLOSED
            late = hers.desk["v"]
            await hers.act("own", text="Yours?", options=["a", "b", "c", "d"], right=None)
            assert hers.desk["asked"]["options"] == ["a", "b", "c", "d"] and hers.desk["said"] == ""
            await hers.act("own", text="", options=["a", "b"], right=None)
            assert hers.desk["said"] == "Write the question first."
            for wrong in (
                {},
                {"text": 3, "options": ["a", "b"]},
                {"text": "?", "options": "ab"},
                {"text": "?", "options": [1]},
            ):
                await hers.act("own", **wrong)
                assert hers.desk["said"], wrong
            await hers.report(DESK, "act", {"name": "close", "v": late})
            assert store.read(teacher.code).phase == Phase.ASKING, "of a screen that was late"
            await hers.act("close")
            for hands in (None, [1, 2], [1, 2, 3, -4], [1, 2, 3, "4"], [True, 1, 2, 3]):
                await hers.act("hands", hands=hands)
                assert hers.desk["said"], hands
            await hers.act("hands", hands=[0, 2, 0, 1])
            assert (hers.desk["asked"]["answered"], hers.desk["said"]) == (3, "")
            await hers.act("bars")
            assert hers.desk["asked"]["bars"] == [[0, 2, 0, 1]]
            await hers.act("reveal")
            assert store.read(teacher.code).phase == Phase.REVEALED
            assert told(other, teacher) == []
            await hers.push(hers._buttons["Delete it now"])
            assert store.read(teacher.code).phase == Phase.ENDED
            await other.look_again()
            assert other.desk["asks"]

    aside(lead()).result()


def test_an_ended_class_and_a_store_that_is_away_are_said_in_a_sentence(school, store, teacher):
    async def lead() -> None:
        async with AsyncExitStack() as stack:
            hers = await arrive(stack, school, teacher.code)
            await hers.report(DESK, "rights", teacher.secret)
            teacher.end()
            run = await hers.look_again()
            assert hers.desk["gone"] == f"The class {teacher.code} has ended." and not run.exceptions
            await hers.act("reveal")
            assert "secret" not in hers.desk
            await hers.act("leave")
            late = await arrive(stack, school, teacher.code)
            await late.report(DESK, "rights", teacher.secret)
            assert late.desk["said"] == f"The class {teacher.code} has ended."
            nowhere = await arrive(stack, school, "22222")
            await nowhere.report(DESK, "rights", teacher.secret)
            assert nowhere.desk["said"] == "There is no class 22222, or no longer."
            for code in ("?", "", "x" * 5000, "<b>"):
                strange = await arrive(stack, school, code)
                assert DESK not in strange.components

    aside(lead()).result()


def test_a_store_that_cannot_be_reached_is_said_in_a_sentence(tmp_path):
    path = tmp_path / "classes.sqlite3"

    async def lead(address: str) -> None:
        async with AsyncExitStack() as stack:
            teacher = open_class(SqliteStore(path), "attention", 1)
            hers = await arrive(stack, address, teacher.code)
            await hers.report(DESK, "rights", teacher.secret)
            assert hers.desk["here"] == 0
            with sqlite3.connect(path) as other:
                other.execute("DROP TABLE class")
            run = await hers.look_again()
            assert hers.desk["away"].startswith("The class cannot be reached: trying again.") and not run.exceptions
            visitor = await arrive(stack, address, "22222")
            run = await visitor.report(DESK, "rights", "a-secret-of-another-day")
            assert visitor.desk["said"].startswith("The file of the classes cannot be used") and not run.exceptions
            lessons = await stack.enter_async_context(Listener(address, "lessons"))
            await lessons.arrive(lessons="for the teacher")
            run = await lessons.press("Teach this lesson")
            assert not run.exceptions and b"The file of the classes cannot be used" in lessons.heard.replace(b"\\", b"")

    with serve(**{FILE_VARIABLE: str(path)}) as address:
        aside(lead(address)).result()


def test_a_server_whose_classes_can_have_no_file_says_so_and_does_not_start(tmp_path):
    (tmp_path / "text").write_text("no database, and longer than its header would be" * 10)
    for path in (tmp_path, tmp_path / "text", tmp_path / "text" / "classes.sqlite3"):
        command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={free_port()}"]
        environment = os.environ | {FILE_VARIABLE: str(path)}
        server = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert server.returncode and "Traceback" not in server.stderr
        assert f"{FILE_VARIABLE}={path}: The file of the classes cannot be used" in server.stderr


def test_a_session_opens_so_many_classes_and_is_then_told_to_go_on(school, store):
    async def lead() -> None:
        async with AsyncExitStack() as stack:
            visitor = await stack.enter_async_context(Listener(school, "lessons"))
            for opened in range(desk.MOST_PER_SESSION + 1):
                await visitor.arrive(lessons="for the teacher")
                assert b"Too many classes" not in visitor.heard, opened
                await visitor.press("Teach this lesson")
            assert b"Too many classes were opened from here within an hour" in visitor.heard

    aside(lead()).result()


def test_the_table_is_for_who_has_the_secret(school, teacher):
    def table(secret: str) -> tuple[int, bytes]:
        request = urllib.request.Request(f"{school}/c/{teacher.code}/answers.csv", method="POST")
        request.add_header("Authorization", f"Bearer {secret}")
        try:
            with urllib.request.urlopen(request) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    assert table(teacher.secret)[0] == 200 and QUESTION.text.encode() in table(teacher.secret)[1]
    for wrong in ("", teacher.secret[:-1], teacher.code):
        status, content = table(wrong)
        assert status == 403 and QUESTION.text.encode() not in content
