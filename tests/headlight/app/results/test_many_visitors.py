"""Many visitors on one real server: each gets their own sentence, and who waits is told so."""

import asyncio
import threading

from headlight.app.results.turn_taking import Turns
from support.talk import aside

from benchmarks.websocket_visitor import WebsocketVisitor, marked
from headlight.app import line, results
from headlight.app.results import turn_taking

PAGES = ("", "attention", "masks")
VISITORS, SENTENCES = 12, 4


def test_each_of_many_visitors_gets_the_own_sentence_and_no_error(address):
    async def visit(number: int) -> list:
        async with WebsocketVisitor(address, PAGES[number % len(PAGES)]) as visitor:
            runs = [(None, await visitor.arrive())]
            for turn in range(SENTENCES):
                mark = 10_000 + 100 * number + turn
                runs.append((mark, await visitor.ask(marked("Where is the old dog?", mark))))
            return runs

    async def all_at_once() -> list:
        return await asyncio.gather(*(visit(number) for number in range(VISITORS)))

    runs = [run for visitor in aside(all_at_once()).result(timeout=120) for run in visitor]
    assert len(runs) == VISITORS * (SENTENCES + 1)
    for mark, run in runs:
        assert run.exceptions == []
        assert run.marks == ({mark} if mark else set())


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

    assert aside(both()).result(timeout=120) == {99_002}


class Place:
    """Notes what is shown in it."""

    def __init__(self):
        self.shown: list[str] = []

    def info(self, text: str, icon: str) -> None:
        self.shown.append(text)

    def empty(self) -> None:
        self.shown.append("")


def test_who_waits_reads_how_many_are_ahead_and_the_words_go_when_the_turn_comes(monkeypatch):
    monkeypatch.setattr(turn_taking, "_LOOK", 0.01)
    monkeypatch.setattr(turn_taking, "_LATER", 0.0)
    monkeypatch.setattr(results, "turns", Turns())
    place, inside = Place(), threading.Event()

    def wait() -> None:
        with line.in_turn(place, None):
            inside.set()

    with results.turns.turn():
        waiter = threading.Thread(target=wait, daemon=True)
        waiter.start()
        while len(place.shown) < 2:
            assert waiter.is_alive()
    assert inside.wait(10)
    words = "One other visitor is ahead of you: the server takes one after the other."
    assert set(place.shown[:-1]) == {words} and place.shown[-1] == ""
    quick = Place()
    with line.in_turn(quick, None):
        assert quick.shown == [], "who need not wait reads nothing"
