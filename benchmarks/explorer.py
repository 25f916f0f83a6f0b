"""The explorer beside BertViz 1.4.1's model_view: the same arrays, in turns, in one Chromium.

6 layers of 8 heads, all three kinds, 32 and 128 tokens a side; and without BertViz 12 layers of 16 heads, as NLLB-600M
has them, 32 tokens a side. From the moment the data are in the browser to the frame in which all heads stand, those of
all three kinds in the explorer, of the first kind in BertViz, which shows one at a time; bytes of the data; then, for
the explorer, pointer to frame. `--any` measures `hl.explore` beside model_view and head_view instead: self-attention of
12 layers of 12 heads, to the first complete picture of each, which in head_view is that of one layer.
Run with `python -m benchmarks.explorer`, after `pip install --no-deps bertviz==1.4.1`: its views need torch alone.
`--wide` needs none.
"""

import argparse
import random
import statistics
from collections.abc import Sequence

import torch
from playwright.sync_api import Browser, Error, Page, Playwright, sync_playwright

import headlight as hl

from .peer_pages import HEADS, LAYERS, model_view_html, peer_html, random_trace, serve_views
from .timing import describe_load, describe_machine, print_table, spread, verdict
from .visit import Server, launch, serve

BARS = {"drawn 32": 0.4, "drawn wide": 1.0, "drawn 128": 2.0, "sooner": 5.0, "bytes": 0.1, "hover": 50.0}
BARS |= {"any 32": 15.0, "any 128": 40.0}
SIDES = (32, 128)
ANY = 12  # layers, and heads of each, of any model
WIDE = (12, 16)  # layers and heads of NLLB-600M, all three kinds of 192 heads
PEER_LIMIT = 60.0  # seconds that BertViz gets for 128 tokens
SETTLE = 500  # ms of rest before each timed act
MOVES = 40
HEAD = ["contender", "seconds: median (least - most)", "bar", "kB"]
# What the pointer moves over, and how many places of it there are at most
TARGETS = {"a cell of the map": ".map canvas", "a head": ".overview canvas", "a token": ".query_tokens button"}

# In every page before its own scripts: when a message of the server came and how large it was; the frame after next.
_STOPWATCH = """
window.painted = (then) => requestAnimationFrame(() => {
  const after = new MessageChannel();
  after.port1.onmessage = then;
  after.port2.postMessage(0);
});
window.arrivals = [];
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    const size = (data) => data.byteLength ?? data.size ?? data.length;
    this.addEventListener("message", ({ data }) => arrivals.push([performance.now(), size(data)]));
  }
};
window.explorer = () => {
  if (window.found?.isConnected) return window.found;
  const roots = [...document.querySelectorAll("*")].map((each) => each.shadowRoot).filter(Boolean);
  return (window.found = roots.map((root) => root.querySelector(".explorer")).find(Boolean));
};
window.said = () => explorer()?.querySelector(".readout").textContent;
window.drawn = (marker) => new Promise((done) => {
  const look = () => {
    if (!explorer()?.querySelector(".key_tokens").textContent.includes(marker)) return requestAnimationFrame(look);
    painted(() => done(performance.now()));
  };
  look();
});
window.hovers = [];
let last; // what was said after the move before
document.addEventListener("pointermove", (event) => painted(() => {
  hovers.push([performance.now() - event.timeStamp, said() !== last]);
  last = said();
}), true);
"""
# In a page of `hl.explore`: milliseconds from the arrival of its last byte to the frame in which all heads stand.
_ALONE = """
(function look() {
  if (!document.querySelector(".explorer .readout")?.textContent) return requestAnimationFrame(look);
  painted(() => (window.stands = performance.now() - performance.getEntriesByType("navigation")[0].responseEnd));
})();
"""
_BLANK = """() => [...explorer().querySelectorAll("canvas")].filter((canvas) => canvas.width && canvas.offsetParent)
  .some((canvas) => !canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean))"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="how often each thing is timed with 32 tokens a side")
    parser.add_argument("--any", action="store_true", help="`hl.explore` beside BertViz's two views alone, once")
    parser.add_argument("--wide", action="store_true", help="the 12 layers of 16 heads alone, which need no BertViz")
    arguments = parser.parse_args()
    rounds = arguments.rounds
    print(f"{describe_machine('streamlit')}, {describe_load()}")
    with sync_playwright() as playwright, serve("benchmarks/explorer_page.py") as server:
        browser = launch(playwright)
        if arguments.any:
            return _any_model(browser)
        if arguments.wide:
            _wide(browser, server, rounds)
            _hover(browser, server, [(SIDES[0], WIDE)])
            return
        _beside_the_peer(browser, server, rounds)
        _long_sentences(browser, playwright, server)
        _wide(browser, server, rounds)
        _hover(browser, server, [*((side, (LAYERS, HEADS)) for side in SIDES), (SIDES[0], WIDE)])
        browser.close()


class Explorer:
    """A visitor of the page with the explorer on it."""

    def __init__(self, browser: Browser, server: Server, side: int, shape: tuple[int, int] = (LAYERS, HEADS)):
        self.page = _page(browser)
        of = f"side={side}&of={shape[0]}&by={shape[1]}"
        self.page.goto(f"{server.address}/?{of}")
        self.number, self.bytes = 1, 0
        self.page.evaluate("drawn('s1.0')")

    def next_sentence(self) -> float:
        """Seconds from the data's arrival to the frame in which the next sentence stands."""
        self.number += 1
        self.page.wait_for_timeout(SETTLE)
        self.page.evaluate(f"arrivals.length = 0, window.done = drawn('s{self.number}.0'), 0")
        self.page.get_by_role("button", name="next").click()
        stands = self.page.evaluate("done")
        arrivals = self.page.evaluate("arrivals")
        came, _ = max(arrivals, key=lambda arrival: arrival[1])
        self.bytes = sum(size for _, size in arrivals)
        if self.page.evaluate(_BLANK):
            raise RuntimeError("a canvas is blank: the sentence was not drawn")
        return (stands - came) / 1000


def _page(browser: Browser) -> Page:
    page = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
    page.add_init_script(_STOPWATCH)
    return page


def _any_model(browser: Browser) -> None:
    rows = []
    for side in SIDES:
        trace = random_trace(side, 1, ANY, ANY)
        layers, tokens = [torch.tensor(layer)[None] for layer in trace.encoder], list(trace.source_tokens)
        views = {view: peer_html(view, attention=layers, tokens=tokens) for view in ("model_view", "head_view")}
        views["explore"] = hl.explore(layers, tokens).page.encode()
        marks = {"model_view": (ANY * ANY, ".attn_background"), "head_view": (ANY * side * side, "line")}
        with serve_views({f"{name}.html": text for name, text in views.items()}) as address:
            page = _page(browser)
            page.add_init_script(_ALONE)
            page.goto(f"{address}/explore.html")
            seconds = {"explore": page.wait_for_function("window.stands").json_value() / 1000}
            page.context.close()
            for view, mark in marks.items():
                page = _page(browser)
                page.goto(address)
                page.wait_for_function("window.ready")
                seconds[view] = page.evaluate("([view, mark]) => show(`${view}.html`, ...mark)", [view, mark]) / 1000
                page.context.close()
        for view, each in seconds.items():
            times = "" if view == "explore" else verdict(each / seconds["explore"], BARS[f"any {side}"], at_most=False)
            rows.append([f"{view}, {side} tokens", f"{each:.3f}", times, f"{len(views[view]) / 1000:,.0f}"])
    print_table("12 layers of 12 heads of any model", ["page", "seconds", "times hl.explore's", "kB"], rows)


def _beside_the_peer(browser: Browser, server: Server, rounds: int) -> None:
    """32 tokens a side: one sentence each in turns; before, one that is not timed."""
    traces = [random_trace(SIDES[0], number) for number in range(1, rounds + 2)]
    views = {f"{number}.html": model_view_html(trace) for number, trace in enumerate(traces)}
    ours, theirs, sent = [], [], []
    explorer, peer = Explorer(browser, server, SIDES[0]), _page(browser)
    with serve_views(views) as address:
        peer.goto(address)
        peer.wait_for_function("window.ready")
        for name in views:
            peer.wait_for_timeout(SETTLE)
            theirs.append(peer.evaluate(f"show('{name}', {LAYERS * HEADS})") / 1000)
            ours.append(explorer.next_sentence())
            sent.append(explorer.bytes)
    explorer.page.context.close()
    peer.context.close()
    median, other = (statistics.median(seconds[1:]) for seconds in (ours, theirs))
    size, peer_size = statistics.median(sent), statistics.median(map(len, views.values()))
    rows = [
        ["explorer", spread(ours[1:], 3), verdict(median, BARS["drawn 32"]), f"{size / 1000:,.0f}"],
        ["BertViz", spread(theirs[1:], 3), "", f"{peer_size / 1000:,.0f}"],
        ["ratio", verdict(other / median, BARS["sooner"], at_most=False), "", verdict(size / peer_size, BARS["bytes"])],
    ]
    print_table("32 tokens per side, from the data's arrival to all heads drawn", HEAD, rows)


def _long_sentences(browser: Browser, playwright: Playwright, server: Server) -> None:
    """Draw 128 tokens per side: thrice in the explorer, once in BertViz, with a limit and in another browser."""
    view, other = model_view_html(random_trace(SIDES[1], 1)), launch(playwright)
    peer = _page(other)
    with serve_views({"view.html": view}) as address:
        peer.goto(address)
        peer.wait_for_function("window.ready")
        peer.evaluate(f"void show('view.html', {LAYERS * HEADS}).then((ms) => (window.result = ms))")
        try:
            seconds = peer.wait_for_function("window.result", timeout=PEER_LIMIT * 1000).json_value() / 1000
            words = f"{seconds:.2f}"
        except Error as error:  # it took too long, or the page crashed
            words = f"none: {str(error).splitlines()[0]}"
    other.close()
    rows = [_drawn(browser, server, SIDES[1], (LAYERS, HEADS), 3, BARS["drawn 128"])]
    rows.append(["BertViz", words, "", f"{len(view) / 1000:,.0f}"])
    print_table("128 tokens per side", HEAD, rows)


def _drawn(browser: Browser, server: Server, side: int, shape: tuple[int, int], rounds: int, bar: float) -> list[str]:
    """Return a row of the times from the data's arrival to all heads drawn."""
    explorer = Explorer(browser, server, side, shape)
    seconds = [explorer.next_sentence() for _ in range(rounds)]
    explorer.page.context.close()
    return ["explorer", spread(seconds, 3), verdict(statistics.median(seconds), bar), f"{explorer.bytes / 1000:,.0f}"]


def _wide(browser: Browser, server: Server, rounds: int) -> None:
    rows = [_drawn(browser, server, SIDES[0], WIDE, rounds, BARS["drawn wide"])]
    print_table("12 layers of 16 heads of three kinds, 32 tokens per side", HEAD, rows)


def _hover(browser: Browser, server: Server, cases: Sequence[tuple[int, tuple[int, int]]]) -> None:
    rows = []
    for side, shape in cases:
        explorer = Explorer(browser, server, side, shape)
        explorer.page.wait_for_timeout(SETTLE)
        for name, selector in TARGETS.items():
            times = _moves(explorer.page, selector)
            bar = verdict(statistics.median(times), BARS["hover"])
            where = f"{name}, {side} tokens a side" + f", {shape[0]} x {shape[1]} heads" * (shape == WIDE)
            rows.append([where, bar, f"{max(times):.0f}", len(times)])
        explorer.page.context.close()
    head = ["pointer over", "ms to the frame: median", "slowest", "moves"]
    print_table("From the pointer's move to the frame that says what is there", head, rows)


def _moves(page: Page, selector: str) -> list[float]:
    """Milliseconds of single moves over what is in sight of a target, those that change what is said there.

    Raises RuntimeError where too few do: then nothing was measured.
    """
    chance, targets = random.Random(1), page.locator(f".explorer {selector}")
    targets.first.scroll_into_view_if_needed()
    times = []
    for _ in range(4 * MOVES):
        box = targets.nth(chance.randrange(targets.count())).bounding_box()
        x, y = (box[start] + chance.uniform(0.2, 0.9) * box[size] for start, size in (("x", "width"), ("y", "height")))
        if not 0 < y < page.viewport_size["height"]:
            continue
        page.evaluate("hovers.length = 0, 0")
        page.mouse.move(x, y)
        page.wait_for_timeout(60)
        times += [milliseconds for milliseconds, changed in page.evaluate("hovers") if changed]
        if len(times) >= MOVES:
            return times
    raise RuntimeError(f"only {len(times)} moves over {selector} changed what is said")


if __name__ == "__main__":
    main()
