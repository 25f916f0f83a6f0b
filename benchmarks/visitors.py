"""Many visitors at once: how long each waits for a new sentence, how many the server serves, and whose sentence it is.

    python -m benchmarks.visitors --visitors 30 60 300 --pages decoding attention

Each visitor speaks Streamlit's own protocol over a websocket and asks for a sentence that nobody asked for before,
every few seconds, or as soon as the last one is there if that is later. Nobody keeps time: the next sentence comes
after half to one and a half of these seconds, because a load in which the same visitors met at each turn would
measure how they happened to lie. Beside it, under the same load, the bare app of `bare.py`. The visitors' own work
shares the processor with the server.
"""

import argparse
import asyncio
import contextlib
import itertools
import random
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .timing import describe_machine, print_table
from .visit import ROOT, serve
from .websocket_visitor import Run, WebsocketVisitor, marked

HOME = "home"
PAGES = (HOME, "decoding", "attention", "inside", "what_if", "positions", "research")
SHOW_THE_SENTENCE = {HOME, "decoding", "attention", "inside"}  # on arrival, as its tokens
FIRST_MARK = 10_000


@dataclass
class Load:
    """Runs of visitors under a load; `runs` are those that ended in the measured time, `seconds` long."""

    seconds: float
    runs: list[Run] = field(default_factory=list)
    all_runs: int = 0  # that ended at any time, arrivals among them
    strangers: int = 0  # runs in which a sentence of someone else came
    unanswered: int = 0  # runs in which the visitor's own did not come
    broken: int = 0  # connections that ended on the server's side

    @property
    def rate(self) -> float:
        """Runs a second."""
        return len(self.runs) / self.seconds

    def quantile(self, share: float) -> float:
        """Seconds within which this share of the runs ended; NaN without any."""
        ordered = sorted(run.seconds for run in self.runs)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else float("nan")

    @property
    def exceptions(self) -> list[str]:
        """All messages of exceptions that came."""
        return [message for run in self.runs for message in run.exceptions]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--visitors", type=int, nargs="+", default=[1, 30, 60], help="how many at once, one load after the other"
    )
    parser.add_argument(
        "--pages", nargs="+", default=list(PAGES), choices=PAGES, metavar="PAGE", help="by address; default: all"
    )
    parser.add_argument("--every", type=float, default=5.0, help="seconds from one sentence of a visitor to the next")
    parser.add_argument("--seconds", type=float, default=25.0, help="how long each load is measured")
    parser.add_argument("--address", help="measure a server that runs already, without memory and bare app")
    arguments = parser.parse_args()
    print(describe_machine("streamlit"))
    marks = itertools.count(FIRST_MARK)
    rows = []
    with contextlib.ExitStack() as servers:
        app = servers.enter_context(serve("app.py")) if arguments.address is None else None
        bare = servers.enter_context(serve("benchmarks/bare.py")) if arguments.address is None else None
        address = app.address if app else arguments.address
        for page, count in itertools.product(arguments.pages, arguments.visitors):
            numbers = (count, arguments.every, arguments.seconds)
            floor = asyncio.run(load(bare.address, "", *numbers, marks)) if bare else None
            spent = app.processor_seconds if app else float("nan")
            measured = asyncio.run(load(address, page, *numbers, marks))
            cost = (app.processor_seconds - spent) / max(measured.all_runs, 1) if app else float("nan")
            memory = app.megabytes if app else float("nan")
            rows.append(_row(page, count, measured, floor, memory, cost))
            print("; ".join(rows[-1]), flush=True)
            for message in sorted(set(measured.exceptions))[:3]:
                print(f"    {message}")
    head = [
        "page",
        "visitors",
        "median s",
        "95 % s",
        "bare median",
        "ratio",
        "runs/s",
        "MB",
        "ms of processor a run",
    ]
    print_table("From a sentence asked for to the run's end", [*head, "exceptions, strange, missing, broken"], rows)


def _row(page: str, count: int, measured: Load, floor: Load | None, memory: float, cost: float) -> list[str]:
    bare = floor.quantile(0.5) if floor else float("nan")
    middle = measured.quantile(0.5)
    faults = (len(measured.exceptions), measured.strangers, measured.unanswered, measured.broken)
    return [
        page,
        str(count),
        f"{middle:.2f}",
        f"{measured.quantile(0.95):.2f}",
        f"{bare:.3f}",
        f"{middle / bare:.1f} x",
        f"{measured.rate:.1f}",
        f"{memory:.0f}",
        f"{1e3 * cost:.0f}",
        ", ".join(map(str, faults)),
    ]


async def load(address: str, page: str, visitors: int, every: float, seconds: float, marks: Iterator[int]) -> Load:
    """So many visitors at once on a page. Measured is what ends within `seconds`, once all have arrived."""
    result = Load(seconds)
    arrived, over = asyncio.Semaphore(0), asyncio.Event()
    ended: list[Run] = []

    async def visit(start: float) -> None:
        await asyncio.sleep(start)
        cookie = f"headlight={uuid.uuid4().hex}"  # behind deploy/nginx.conf.template it leads to one of the replicas
        try:
            async with WebsocketVisitor(address, _address(page), cookie) as visitor:
                await visitor.arrive()
                title = "headlight" if page == HOME else page.replace("_", " ")
                if title[:8] not in visitor.title.lower():
                    raise RuntimeError(f"asked for the page {page!r}, got {visitor.title!r}")
                result.all_runs += 1
                arrived.release()
                due = time.monotonic() + every * random.random()
                for mark, text in _texts(marks):
                    await asyncio.sleep(max(0.0, due - time.monotonic()))
                    run = await visitor.ask(text)
                    ended.append(run)
                    result.all_runs += 1
                    result.unanswered += mark not in run.marks and page in SHOW_THE_SENTENCE
                    due = max(due + every * (0.5 + random.random()), run.ended)
                    await _look_until_whole(visitor, run, due)
                    result.strangers += bool(run.marks - {mark})
        except Exception as error:  # noqa: BLE001 (whatever ends a session is counted)
            if not over.is_set():
                result.broken += 1
                print(f"    a visitor's session ended: {type(error).__name__}: {error}")
                arrived.release()

    tasks = [asyncio.create_task(visit(every * number / visitors)) for number in range(visitors)]
    for _ in tasks:
        await arrived.acquire()
    await asyncio.sleep(every)
    since = time.monotonic()
    await asyncio.sleep(seconds)
    until = time.monotonic()
    over.set()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    result.runs = [run for run in ended if since <= run.ended <= until]
    return result


async def _look_until_whole(visitor: WebsocketVisitor, run: Run, due: float) -> None:
    """Ask for the parts of the page that are still to come, as a browser does, until the next sentence is due."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout_at(due - time.monotonic() + asyncio.get_running_loop().time()):
            while not visitor.is_whole:
                last = await visitor.look_again()
                run.exceptions.extend(last.exceptions)
                run.marks |= last.marks


def _address(page: str) -> str:
    return "" if page == HOME else page


def _texts(marks: Iterator[int]) -> Iterator[tuple[int, str]]:
    """Sentences of the shipped sample, each with a mark of its own."""
    sentences = _sentences()
    for mark in marks:
        yield mark, marked(sentences[mark * 37 % len(sentences)], mark)


def _sentences() -> Sequence[str]:
    lines = (ROOT / "checkpoints/en-de/samples.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[0] for line in lines]


if __name__ == "__main__":
    main()
