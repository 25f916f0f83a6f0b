"""Many visitors on one real server: each gets their own sentence, and waiting visitors see their position."""

import asyncio
import threading
from types import SimpleNamespace

from support.server import until
from support.visitors import aside

from benchmarks.websocket_visitor import WebsocketVisitor, marked
from headlight.app import model_queue, results

PAGES = ("", "attention", "inside", "what_if", "research")
WITHOUT_MARKS = ("what_if", "research")  # pages whose data need not contain the sentence
VISITORS, LEAVERS, SENTENCES = 15, 4, 3


def test_each_visitor_gets_their_own_sentence_while_others_leave(address):
    async def visit(number: int) -> list:
        async with WebsocketVisitor(address, PAGES[number % len(PAGES)]) as visitor:
            runs = [(None, await visitor.arrive())]
            for turn in range(SENTENCES):
                mark = 10_000 + 100 * number + turn
                runs.append((mark, await visitor.ask(marked("Where is the old dog?", mark))))
            while not visitor.is_whole:
                runs.append((mark, await visitor.look_again()))
            return runs

    async def leave(number: int) -> None:
        async with WebsocketVisitor(address) as visitor:
            await visitor.arrive()
            await visitor.send(marked("Who is there?", 99_000 + number))

    async def all_at_once() -> list:
        visits = await asyncio.gather(*map(visit, range(VISITORS)), *map(leave, range(LEAVERS)))
        return visits[:VISITORS]

    for number, runs in enumerate(aside(all_at_once()).result(timeout=300)):
        assert [run.exceptions for _, run in runs] == [[]] * len(runs) and len(runs) > SENTENCES
        for mark, run in runs:
            is_shown = mark and PAGES[number % len(PAGES)] not in WITHOUT_MARKS
            assert run.marks == {mark} if is_shown else run.marks <= {mark}


def test_a_waiting_visitor_sees_a_notice_until_the_turn_comes(monkeypatch):
    monkeypatch.setattr(model_queue, "_PATIENCE", 0.0)
    request = results.greedy_request(results.TranslationRequest(results.checkpoint("reverse"), "a b c"))
    texts: list[str] = []
    notice = SimpleNamespace(info=lambda text, icon: texts.append(text), empty=lambda: texts.append(""))

    def wait() -> None:
        with model_queue.in_turn(notice, request):
            pass

    with results.queue.turn():
        visitor = threading.Thread(target=wait, daemon=True)
        visitor.start()
        until(lambda: len(texts) > 1)
    visitor.join(300)
    assert texts[0].startswith("One other visitor is ahead") and texts[-1] == ""
    texts.clear()
    with model_queue.in_turn(notice, request):
        assert texts == []
