"""How soon the steps of an attention block follow a choice: another head, layer or kind, another query or key.

From the click to the steps in sight, and to all twelve; a short sentence and one of about sixty tokens. Beside it, in
the same run and in turns, a change of page in an app with nothing but one small heatmap a page (`bare.py`): what
Streamlit and the browser take by themselves. Run with `python -m benchmarks.inside`.
"""

import argparse
import statistics
import time
from dataclasses import dataclass
from urllib.parse import urlencode

from playwright.sync_api import Locator, Page, sync_playwright

from .pages import BARE
from .timing import describe_machine, print_table, spread, verdict
from .visit import Visitor, launch, serve

BAR = 0.5  # seconds from the choice to everything drawn
SETTLE = 1000  # ms of rest before each timed act
SHORT = "I love my teacher."
LONG = (
    "When the rain comes in the evening, my old father closes all the windows of our house and tells the "
    "children a long story about a man who lost his way in the forest, and nobody knows whether he ever came back, "
    "because the story has no end and the children are asleep."
)

# True when the sum written out in a step is another than before and nothing is left of the run before; with `all`, when
# every step is drawn, too.
_FOLLOWED = """([step, before, all]) => {
  const steps = [...document.querySelectorAll('*')].map(e => e.shadowRoot?.querySelector('ol.steps')).find(Boolean);
  const sum = steps?.querySelector(`li.step.${step} .hand`)?.textContent;
  return sum && sum !== before && (!all || steps.hasAttribute('data-drawn'))
    && !document.querySelector('[data-stale=true]');
}"""
IN_SIGHT, LAST = "project", "products"  # steps: one in sight at the page's top, and one below with sums of every choice


@dataclass(frozen=True)
class TranslationRequest:
    """A control of the page by its role and name, the options that are chosen in turns."""

    group: str
    name: str
    options: tuple[str | int, ...]  # texts, of tokens their places

    def option(self, page: Page, number: int) -> Locator:
        """Return what is clicked in this round."""
        group, option = page.get_by_role(self.group, name=self.name), self.options[number % len(self.options)]
        if isinstance(option, int):
            return group.get_by_role("button").nth(option)
        return group.get_by_role("radio", name=option, exact=True)


CHOICES = {
    "head": TranslationRequest("radiogroup", "Head", ("2", "3", "4", "5", "6", "7")),
    "layer": TranslationRequest("radiogroup", "Layer", ("2", "3")),
    "kind": TranslationRequest("radiogroup", "Kind of attention", ("encoder", "decoder", "cross")),
    "query": TranslationRequest("group", "Query", (2, 3, 4)),
    "key": TranslationRequest("group", "Key", (2, 3, 4)),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=6, help="how often each thing is timed")
    rounds = parser.parse_args().rounds
    print(describe_machine("streamlit", "plotly"))
    rows = []
    with sync_playwright() as playwright, serve("app.py") as server, serve("benchmarks/bare.py") as bare:
        browser = launch(playwright)
        other = Visitor(browser)
        other.page.goto(bare.address)
        other.wait(*BARE["First"])
        for length, sentence in (("6 tokens", SHORT), ("60 tokens", LONG)):
            visitor = Visitor(browser)
            place = {"kind": "cross", "layer": 1, "head": 1, "at_query": 2, "at_key": 1, "at_step": "all"}
            query = urlencode({"text": sentence, **place})
            visitor.page.goto(f"{server.address}/inside?{query}")
            _wait(visitor.page, LAST, "")
            for name, choice in CHOICES.items():
                choice.option(visitor.page, 1).click()  # once untimed
                timed = [_timed(visitor, choice, number) for number in range(rounds)]
                floor = [_floor(other, number) for number in range(rounds)]
                rows.append(_row(f"{name}, {length}", timed, floor))
            visitor.page.context.close()
        browser.close()
    times = ["bar", "in sight: median (least - most)", "all steps"]
    head = ["choice of another", *times, "bare app", "ratio", "kB sent"]
    print_table("Seconds from the choice to the steps in sight, and to all of them", head, rows)


def _timed(visitor: Visitor, request: TranslationRequest, number: int) -> tuple[float | None, float, float]:
    """Seconds to the steps in sight (None where the request leaves their sums alone) and to all, and the bytes sent."""
    page = visitor.page
    page.wait_for_timeout(SETTLE)
    before = {step: page.locator(f"li.step.{step} .hand").inner_text() for step in (IN_SIGHT, LAST)}
    sent = visitor.bytes
    option, started, sight = request.option(page, number), time.perf_counter(), None
    option.click()
    if request.group == "radiogroup":  # of another token only the sums below change
        _wait(page, IN_SIGHT, before[IN_SIGHT], every=False)
        sight = time.perf_counter() - started
    _wait(page, LAST, before[LAST])
    seconds = time.perf_counter() - started
    page.wait_for_timeout(SETTLE)
    return sight, seconds, visitor.bytes - sent


def _wait(page: Page, step: str, before: str, *, every: bool = True) -> None:
    page.wait_for_function(_FOLLOWED, arg=[step, before, every], polling="raf", timeout=60_000)


def _floor(other: Visitor, number: int) -> float:
    other.page.wait_for_timeout(SETTLE)
    name = ("Second", "First")[number % 2]
    return other.time(other.page.get_by_role("link", name=name, exact=True).click, *BARE[name])


def _row(name: str, timed: list[tuple[float | None, float, float]], floor: list[float]) -> list[str]:
    sight, seconds, sent = (list(column) for column in zip(*timed, strict=True))
    first = seconds if sight[0] is None else sight
    middle, bare = statistics.median(first), statistics.median(floor)
    ratio = f"{middle / bare:.2f} x"
    kilobytes = f"{statistics.median(sent) / 1000:,.0f}"
    return [name, verdict(middle, BAR), spread(first), spread(seconds), f"{bare:.2f}", ratio, kilobytes]


if __name__ == "__main__":
    main()
