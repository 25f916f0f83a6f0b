"""Many visitors on one real server: each gets their own sentence."""

import asyncio

from support.visitors import aside

from benchmarks.websocket_visitor import WebsocketVisitor, marked

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
