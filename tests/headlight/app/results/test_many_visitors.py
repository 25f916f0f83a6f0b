"""Many visitors on one real server: each gets their own sentence, and who waits is told so."""

import asyncio
import itertools
import json
import threading
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest
from support.pages import components, open_page
from support.server import until
from support.visitors import aside

from benchmarks.websocket_visitor import WebsocketVisitor, marked
from headlight.app import model_queue, results

PAGES = ("", "attention", "inside", "what_if", "research")
VISITORS, SENTENCES = 15, 3


def test_each_of_many_visitors_gets_the_own_sentence_and_no_error(address):
    async def visit(number: int) -> list:
        async with WebsocketVisitor(address, PAGES[number % len(PAGES)]) as visitor:
            runs = [(None, await visitor.arrive())]
            for turn in range(SENTENCES):
                mark = 10_000 + 100 * number + turn
                runs.append((mark, await visitor.ask(marked("Where is the old dog?", mark))))
            while not visitor.is_whole:
                runs.append((mark, await visitor.look_again()))
            return runs

    async def all_at_once() -> list:
        return await asyncio.gather(*(visit(number) for number in range(VISITORS)))

    for number, runs in enumerate(aside(all_at_once()).result(timeout=300)):
        assert [run.exceptions for _, run in runs] == [[]] * len(runs) and len(runs) > SENTENCES
        for mark, run in runs:
            shows_it = mark and PAGES[number % len(PAGES)] not in ("what_if", "research")
            assert run.marks == {mark} if shows_it else run.marks <= {mark}


def test_a_visitor_who_leaves_at_once_does_not_stop_the_others(address):
    async def leave() -> None:
        async with WebsocketVisitor(address) as visitor:
            await visitor.arrive()
            await visitor.send(marked("Who is there?", 99_001))

    async def stay() -> set[int]:
        async with WebsocketVisitor(address) as visitor:
            await visitor.arrive()
            return (await visitor.ask(marked("Who is there?", 99_002))).marks

    async def both() -> set[int]:
        await asyncio.gather(*(leave() for _ in range(4)))
        return await stay()

    assert aside(both()).result(timeout=300) == {99_002}


class Place:
    """Notes what is shown in it."""

    def __init__(self):
        self.shown: list[str] = []

    def info(self, text: str, icon: str) -> None:
        self.shown.append(text)

    def empty(self) -> None:
        self.shown.append("")


def test_who_waits_reads_how_many_are_ahead_and_the_words_go_when_the_turn_comes(monkeypatch):
    monkeypatch.setattr(model_queue, "_PATIENCE", 0.0)
    place = Place()
    request = results.greedy_request(results.traces, results.TranslationRequest(results.checkpoint("reverse"), "a b c"))

    def wait() -> None:
        with model_queue.in_turn(place, request):
            pass

    with results.queue.turn():
        waiter = threading.Thread(target=wait, daemon=True)
        waiter.start()
        until(lambda: len(place.shown) > 1)
    waiter.join(300)
    words = "One other visitor is ahead of you: the server takes one after the other."
    assert set(place.shown[:-1]) == {words} and place.shown[-1] == ""
    quick = Place()
    with model_queue.in_turn(quick, request):
        assert quick.shown == [], "who need not wait reads nothing"


def page_with_a_slow_task():
    import streamlit as st

    from headlight.app.model_queue import run_when_idle

    def task():
        st.session_state["runs"] = st.session_state.get("runs", 0) + 1
        if "fails" in st.query_params:
            raise ValueError

    there = run_when_idle("request", task, "This")
    st.write(f"{'there' if there else 'to come'} after {st.session_state.get('runs', 0)}")


class Crowded:
    """A queue in which somebody waits while a page is drawn: its run has the turn, a rerun of its part has none."""

    def __init__(self, is_rerun: bool = False):
        self.line = [None]
        self.is_rerun = is_rerun

    def has_turn(self) -> bool:
        return not self.is_rerun

    def turn(self, *_, **__) -> nullcontext:
        self.is_rerun = False
        return nullcontext()


@pytest.mark.parametrize("calm", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_a_slow_task_is_done_at_once_where_nobody_waits_and_else_afterwards(calm, fails, monkeypatch):
    if not calm:
        monkeypatch.setattr(model_queue, "queue", Crowded())
    app = AppTest.from_function(page_with_a_slow_task, default_timeout=300)
    app.query_params.update({"fails": ""} if fails else {})
    app.run()
    assert app.markdown[0].value == ("there after 1" if calm else "to come after 0")
    assert calm or "This follows, after the translations that others wait for." in app.info[0].value
    monkeypatch.undo()
    app.run()
    assert app.markdown[0].value == "there after 1" and not app.info and not app.exception


def test_a_slow_task_does_not_wait_for_ever(monkeypatch):
    monkeypatch.setattr(model_queue, "queue", Crowded(is_rerun=True))
    now = itertools.count(0, 10)
    monkeypatch.setattr(model_queue, "time", SimpleNamespace(monotonic=lambda: next(now)))
    app = AppTest.from_function(page_with_a_slow_task, default_timeout=300).run()
    assert app.markdown[0].value == "there after 1"


def test_heads_that_were_chosen_stay_chosen_over_a_crowd_on_coming_back(monkeypatch):
    off = "cross.1.2-cross.1.3-encoder.2.5"
    until(lambda: not results.queue.line)
    app = open_page("pages/what_if.py", text="We come back to it.", off=off)
    assert json.loads(components(app)[0].proto.json)["off"] == off
    app.switch_page("pages/decoding.py").run()
    monkeypatch.setattr(model_queue, "queue", Crowded())
    app.text_input(key="text").set_value("We come back in a crowd.")
    app.switch_page("pages/what_if.py").run()
    assert not components(app) and "after the translations that others wait for." in app.info[0].value
    monkeypatch.undo()
    until(lambda: not results.queue.line)
    app.run()
    switches, _ = components(app)
    assert not app.exception and json.loads(switches.proto.json)["off"] == off
    assert not any("others wait" in info.value for info in app.info)
