"""Nobody without the teacher's secret reveals, ends, asks, or reads a class: tried over the app's own websocket."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
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
TRUTH = Truth("It is leader alone.", right=(0,))
WHO = "5f0c93d2a1"
ACTS = ("ask", "own", "close", "bars", "again", "reveal", "next", "back", "discard", "hands", "lock", "summary")


class Listener(WebsocketVisitor):
    """A visitor who keeps all bytes of the server."""

    received = b""

    def _over(self, data: bytes, run: Run) -> bool:
        self.received += data
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
    """Return the teacher of a class with a closed question and one answer."""
    opened = open_class(store, "attention", 1)
    opened.ask(QUESTION, TRUTH, "attention.2")
    store.answer(opened.code, Answer(round=1, participant=WHO, choice="0", at=store.now()))
    opened.close_round()
    return opened


async def arrive(stack: AsyncExitStack, school: str, code: str, page: str = "decoding", **more: str) -> Listener:
    visitor = await stack.enter_async_context(Listener(school, page))
    run = await visitor.arrive(**{"class": code, **more})
    assert not run.exceptions
    return visitor


def leaked(visitor: Listener, teacher: Teacher) -> list[str]:
    """Return the class's secrets that a visitor has received."""
    secrets = (teacher.secret, QUESTION.text, QUESTION.options[1], TRUTH.sentence, WHO, "Answers as CSV")
    return [each for each in secrets if each.encode() in visitor.received]


def lead(work: Callable[[AsyncExitStack], Awaitable[None]]) -> None:
    """Run visitors in a thread of their own."""

    async def main() -> None:
        async with AsyncExitStack() as stack:
            await work(stack)

    aside(main()).result()


def test_without_the_secret_nothing_is_sent_and_nothing_done(school, store, teacher):
    async def intrude(stack: AsyncExitStack) -> None:
        before, other_secret = store.read(teacher.code), open_class(store).secret
        wrong = (other_secret, teacher.secret[:-1], "", " ", "x" * 5000, None, 3, [teacher.code], {"a": 1})
        strange = (None, "reveal", 7, ["reveal"], {"name": ["reveal"]}, {"name": "reveal", "v": "2"})
        for page, more in (("decoding", {"lesson": "attention.2"}), ("lessons", {"lessons": "a class"})):
            visitor = await arrive(stack, school, teacher.code, page, **more)
            assert visitor.desk["asks"] and set(visitor.desk) == {"code", "asks", "notice", "turn", "page"}
            for name in ACTS:
                run = await visitor.act(name, text="Mine?", options=["a", "b"], right=0, hands=[9, 9])
                assert not run.exceptions
            for secret in wrong:
                run = await visitor.report(DESK, "rights", secret)
                assert not run.exceptions and visitor.desk["notice"] and visitor.desk["asks"], secret
                await visitor.act("reveal")
            for each in strange:
                assert not (await visitor.report(DESK, "act", each)).exceptions
            assert leaked(visitor, teacher) == [] and store.read(teacher.code) == before

    lead(intrude)


def test_the_teacher_leads_the_class_and_nobody_else_can_press_a_button_of_theirs(school, store, teacher):
    async def work(stack: AsyncExitStack) -> None:
        leader = await arrive(stack, school, teacher.code, "lessons", lessons="a class")
        other = await arrive(stack, school, teacher.code, "lessons", lessons="a class")
        run = await leader.report(DESK, "rights", teacher.secret)
        assert not run.exceptions and leader.desk["question"]["text"] == QUESTION.text
        assert {QUESTION.text, "Answers as CSV"} <= set(leaked(leader, teacher))
        assert TRUTH.sentence.encode() not in leader.received, "nor on the teacher's screen before the reveal"
        await other.push(leader._buttons["Delete it now"])
        assert store.read(teacher.code).phase == Phase.CLOSED
        late = leader.desk["v"]
        await leader.act("own", text="Yours?", options=["a", "b", "c", "d"], right=None)
        assert leader.desk["question"]["options"] == ["a", "b", "c", "d"] and leader.desk["notice"] == ""
        await leader.report(DESK, "act", {"name": "close", "v": late})
        assert store.read(teacher.code).phase == Phase.ASKING, "of a screen that was late"
        for text, options in (("", ["a", "b"]), (None, None), (3, ["a", "b"]), ("?", "ab"), ("?", [1])):
            await leader.act("own", text=text, options=options, right=None)
            assert leader.desk["notice"], text
        await leader.act("close")
        for hands in (None, [1, 2], [1, 2, 3, -4], [1, 2, 3, "4"], [True, 1, 2, 3]):
            await leader.act("hands", hands=hands)
            assert leader.desk["notice"], hands
        await leader.act("hands", hands=[0, 2, 0, 1])
        assert (leader.desk["question"]["answered"], leader.desk["notice"]) == (3, "")
        await leader.act("bars")
        assert leader.desk["question"]["bars"] == [[0, 2, 0, 1]]
        await leader.act("reveal")
        assert store.read(teacher.code).phase == Phase.REVEALED and leaked(other, teacher) == []
        await leader.push(leader._buttons["Delete it now"])
        assert store.read(teacher.code).phase == Phase.ENDED
        await other.look_again()
        assert other.desk["asks"]

    lead(work)


def test_an_ended_class_an_unknown_one_and_a_limit_are_named_in_a_sentence(school, store, teacher):
    async def work(stack: AsyncExitStack) -> None:
        leader = await arrive(stack, school, teacher.code)
        await leader.report(DESK, "rights", teacher.secret)
        teacher.end()
        run = await leader.look_again()
        assert leader.desk["gone"] == f"The class {teacher.code} has ended." and not run.exceptions
        await leader.act("reveal")
        assert "secret" not in leader.desk
        await leader.act("leave")
        gone = {teacher.code: f"The class {teacher.code} has ended.", "22222": "There is no class 22222, or no longer."}
        for code, sentence in gone.items():
            late = await arrive(stack, school, code)
            await late.report(DESK, "rights", teacher.secret)
            assert late.desk["notice"] == sentence
        for code in ("?", "", "x" * 5000, "<b>"):
            assert DESK not in (await arrive(stack, school, code)).components
        visitor = await stack.enter_async_context(Listener(school, "lessons"))
        for opened in range(desk.MOST_PER_SESSION + 1):
            await visitor.arrive(lessons="for the teacher")
            assert b"Too many classes" not in visitor.received, opened
            await visitor.press("Teach this lesson")
        assert b"Too many classes were opened from here in the last hour" in visitor.received

    lead(work)


def test_a_store_that_cannot_be_reached_is_named_in_a_sentence(tmp_path):
    path = tmp_path / "classes.sqlite3"
    with serve(**{FILE_VARIABLE: str(path)}) as address:

        async def work(stack: AsyncExitStack) -> None:
            teacher = open_class(SqliteStore(path), "attention", 1)
            leader = await arrive(stack, address, teacher.code)
            await leader.report(DESK, "rights", teacher.secret)
            with sqlite3.connect(path) as other:
                other.execute("DROP TABLE class")
            run = await leader.look_again()
            assert leader.desk["away"].startswith("The class cannot be reached.") and not run.exceptions
            lessons = await stack.enter_async_context(Listener(address, "lessons"))
            await lessons.arrive(lessons="for the teacher")
            run = await lessons.press("Teach this lesson")
            assert not run.exceptions
            assert b"The file of the classes cannot be used" in lessons.received.replace(b"\\", b"")

        lead(work)


def test_a_server_whose_classes_can_have_no_file_does_not_start(tmp_path):
    (tmp_path / "text").write_text("no database, and longer than its header would be" * 10)
    for path in (tmp_path / "text", tmp_path / "text" / "classes.sqlite3"):
        command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={free_port()}"]
        environment = os.environ | {FILE_VARIABLE: str(path)}
        server = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert server.returncode and "Traceback" not in server.stderr
        assert f"{FILE_VARIABLE}={path}: The file of the classes cannot be used" in server.stderr
