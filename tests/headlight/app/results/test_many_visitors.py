"""Many visitors on one real server: each gets their own sentence, and who waits is told so."""

import asyncio
import threading

import pytest
from streamlit.testing.v1 import AppTest
from support.pages import components, open_page, page_text
from support.talk import aside
from support.until import until

from benchmarks.websocket_visitor import WebsocketVisitor, marked
from headlight.app import line, model_queue, results

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
    monkeypatch.setattr(model_queue, "_TELL", 0.0)
    place = Place()
    choice = results.TranslationRequest(results.checkpoint("reverse"), "a b c")

    def wait() -> None:
        with line.in_turn(place, choice):
            pass

    with results.queue.turn():
        waiter = threading.Thread(target=wait, daemon=True)
        waiter.start()
        until(lambda: len(place.shown) > 1)
    waiter.join(300)
    words = "One other visitor is ahead of you: the server takes one after the other."
    assert set(place.shown[:-1]) == {words} and place.shown[-1] == ""
    quick = Place()
    with line.in_turn(quick, choice):
        assert quick.shown == [], "who need not wait reads nothing"


def page_with_a_slow_task():
    import streamlit as st

    from headlight.app import line, results

    def task():
        st.session_state["parts"] = st.session_state.get("parts", 0) + 1
        yield
        if "fails" in st.query_params:
            raise ValueError

    if "in_turn" in st.query_params:
        with results.queue.turn():
            there = line.is_there("request", task, "Ablating")
    else:  # as the part of a page that runs again by itself
        there = line.is_there("request", task, "Ablating")
    st.write(f"{'there' if there else 'to come'} after {st.session_state.get('parts', 0)}")


@pytest.mark.parametrize("calm", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_a_slow_task_is_done_at_once_where_nobody_waits_and_else_once_the_page_is_there(calm, fails, monkeypatch):
    monkeypatch.setattr(results.queue, "is_calm", lambda: calm)
    app = AppTest.from_function(page_with_a_slow_task, default_timeout=300)
    app.query_params.update({"in_turn": "", **({"fails": ""} if fails else {})})
    app.run()
    assert app.markdown[0].value == ("there after 1" if calm else "to come after 0")
    assert calm or "Ablating takes longer than a translation." in app.info[0].value
    del app.query_params["in_turn"]
    app.run()
    assert app.markdown[0].value == "there after 1" and not app.info and not app.exception


def test_heads_that_were_chosen_stay_chosen_over_a_crowd_on_coming_back(monkeypatch):
    off = "cross.1.2-cross.1.3-encoder.2.5"
    until(results.queue.is_calm)
    app = open_page("pages/what_if.py", text="We come back to it.", off=off)
    assert "Without 3 heads:" in page_text(app)
    app.switch_page("pages/decoding.py").run()
    monkeypatch.setattr(results.queue, "is_calm", lambda: False)
    app.text_input(key="text").set_value("We come back in a crowd.")
    app.switch_page("pages/what_if.py").run()
    assert not components(app) and "after the translations that other visitors wait for." in app.info[0].value
    monkeypatch.undo()
    until(results.queue.is_calm)
    app.run()
    assert not app.exception and "Without 3 heads:" in page_text(app)
    assert len(components(app)) == 1 and not any("other visitors" in info.value for info in app.info)
