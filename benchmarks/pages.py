"""Speed of the app: cold start, a new sentence, each change of page; bytes sent and memory of the server.

A change of page takes until the page has answered: until all of it is drawn, but on What if until the translation
without a head stands under the other one, and on Positions until the translations of both sentences, with positions and
without, are there. What then still follows (the losses of all heads; figures and finding) is timed as well.

Beside it, in the same run and in turns, an app with nothing but one small heatmap per page (`bare.py`): the time of
Streamlit, Plotly and the browser. Run with `python -m benchmarks.pages`.
"""

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

from playwright.sync_api import Browser, sync_playwright

from .timing import describe_load, describe_machine, print_table, spread, verdict
from .visit import Server, Visitor, launch, serve

BARS = {"cold": 5.0, "sentence": 0.4, "switch": 0.4, "memory": 900.0}
HEAD = ["what", "seconds: median (least - most)", "bar", "bare app", "ratio", "ratio of all", "kB sent"]
SETTLE = 1.0  # seconds of rest before each timed act: what the browser still does for the last one is not this one's

# link -> the title, and what must stand there and how often: first what carries the sentence's tokens, where there is
# such a thing
CHART = "[data-testid=stPlotlyChart]"
APP = {
    "Home": ("Headlight", [(".token_lines .row.output button", 3)]),
    "Decoding": ("Decoding", [(".chips.source .token", 1), ("td.bar i", 10)]),
    "Attention": ("Attention", [(".explorer .query_tokens button", 1)]),
    "What if": ("What if", [("td button", 24)]),
    "Inside": ("Inside", [(".whole_pass canvas", 1), (".whole_pass .parts button", 1)]),
    "Positions": ("Positions", [(".finding .headline", 1)]),
    "Training": ("Training", [("table.map td", 1)]),
    "Research": ("Research", [("[class*=st-key-tile_]", 9)]),
    "Lessons": ("Lessons", [("[class*=st-key-lesson_card_]", 11)]),
}
SENTENCE_PAGE = "Decoding"
ANSWERS = {"What if": [(".translations td", 8)], "Positions": [("[class*=st-key-translations_of_] p", 2)]}
BARE = {name: (name, [(f"{CHART} .heatmaplayer image", 1)]) for name in ("First", "Second")}

SENTENCES = [
    "Nobody knows where the old man lives.",
    "Yesterday we saw a film about Berlin.",
    "Please close the window.",
    "Maybe she will come tomorrow.",
    "Children like to play in the garden.",
    "Winter is colder than summer.",
]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often each thing is timed")
    rounds = parser.parse_args().rounds
    print(f"{describe_machine('streamlit', 'plotly')}, {describe_load()}")
    with sync_playwright() as playwright:
        browser = launch(playwright)
        cold = [(_cold(browser, "app.py", APP), _cold(browser, "benchmarks/bare.py", BARE)) for _ in range(rounds)]
        with serve("app.py") as server, serve("benchmarks/bare.py") as bare:
            warm = _warm(browser, server, bare, rounds)
            memory = server.megabytes
        browser.close()
    _report(cold, warm, memory)


def _cold(browser: Browser, script: str, pages: dict) -> float:
    """Seconds from the start of the server's process to the first page drawn in a browser that never saw it."""
    with serve(script) as server:
        visitor = Visitor(browser)
        visitor.page.goto(server.address, wait_until="commit")
        visitor.wait(*next(iter(pages.values())))
        seconds = time.monotonic() - server.started
        visitor.page.context.close()
    return seconds


def _warm(browser: Browser, server: Server, bare: Server, rounds: int) -> dict[str, list[float]]:
    """One visitor's seconds: sentences, changes of page by name, and the bare app's beside them; bytes of each kind."""
    measured: dict[str, list[float]] = defaultdict(list)
    visitor, other = Visitor(browser), Visitor(browser)
    visitor.page.goto(server.address)
    visitor.wait(*APP["Home"])
    other.page.goto(bare.address)
    other.wait(*BARE["First"])
    measured["bytes: first page"].append(visitor.bytes)
    tour = [*APP][1:] + [SENTENCE_PAGE]
    for name in tour:  # once each, untimed: the browser reads what a page is the first to need
        _switch(visitor, name, APP)

    def measure(name: str, seconds: Callable[[], tuple[float, float]]) -> None:
        before = visitor.bytes
        answered, drawn = seconds()
        measured[name].append(answered)
        measured[f"all: {name}"].append(drawn)
        measured[f"bytes: {name}"].append(visitor.bytes - before)

    for number in range(rounds):
        for index, name in enumerate(tour):
            measure(name, partial(_switch, visitor, name, APP))
            measured["bare"].append(_switch(other, ("Second", "First")[(number + index) % 2], BARE)[1])
        measure("sentence", partial(_sentence, visitor, number))
    visitor.page.context.close()
    other.page.context.close()
    return measured


def _switch(visitor: Visitor, name: str, pages: dict) -> tuple[float, float]:
    visitor.page.wait_for_timeout(SETTLE * 1000)
    link = visitor.page.get_by_role("link", name=name, exact=True)
    return visitor.time(link.click, *pages[name], "", ANSWERS.get(name, ()))


def _sentence(visitor: Visitor, number: int) -> tuple[float, float]:
    """Return a sentence nobody asked for before, on SENTENCE_PAGE."""
    # Beyond the list the sentences are numbered: no cache has them.
    text = SENTENCES[number % len(SENTENCES)]
    text = text if number < len(SENTENCES) else f"{text[:-1]} {number}."
    visitor.page.get_by_role("link", name=SENTENCE_PAGE, exact=True).click()
    visitor.wait(*APP[SENTENCE_PAGE])
    box = visitor.page.get_by_label("Sentence to translate")
    box.fill(text)
    visitor.page.wait_for_timeout(SETTLE * 1000)
    return visitor.time(lambda: box.press("Enter"), *APP[SENTENCE_PAGE], text)


def _report(cold: list[tuple[float, float]], warm: dict[str, list[float]], memory: float) -> None:
    ours, bare = zip(*cold, strict=True)
    rows = [_row("cold start to first page", ours, ours, BARS["cold"], bare, warm["bytes: first page"])]
    switches = [_row(f"to {page}", *_of(warm, page, "switch")) for page in [*APP][1:]]
    rows += [_row("a new sentence", *_of(warm, "sentence", "sentence")), *switches]
    print_table("From the act to the answer", HEAD, rows)
    print(f"\nserver memory with one visitor: {verdict(memory, BARS['memory'])} MB")


def _of(warm: dict[str, list[float]], name: str, bar: str) -> tuple:
    return warm[name], warm[f"all: {name}"], BARS[bar], warm["bare"], warm[f"bytes: {name}"]


def _row(
    what: str, seconds: Sequence[float], drawn: Sequence[float], bar: float, bare: Sequence[float], sent: list[float]
) -> list[str]:
    middle, whole, floor, size = map(statistics.median, (seconds, drawn, bare, sent))
    ratios = f"{middle / floor:.2f} x", f"{whole / floor:.2f} x"
    return [what, spread(seconds), verdict(middle, bar), f"{floor:.2f}", *ratios, f"{size / 1000:,.0f}"]


if __name__ == "__main__":
    main()
