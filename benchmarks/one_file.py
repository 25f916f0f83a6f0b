"""The live model in one file beside PyTorch: is it the same, how fast, in how much memory, and what does int8 cost?

python -m benchmarks.one_file [equal] [speed] [bleu] [--checkpoint en-de] [--pairs PAIRS.tsv] [--rounds N]

equal: logits, maps, translations and single heads beside PyTorch with the same int8 weights. speed: Chromium beside
PyTorch on one thread, in turn. bleu: greedy translations of --pairs with the shipped weights and with int8's.
`equal` needs node, `speed` a Chromium and playwright.
"""

import argparse
import json
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sacrebleu
import torch
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.engine_answers import Run, ask_engine
from benchmarks.timing import describe_load, describe_machine, print_table, verdict
from benchmarks.visit import launch
from headlight.views.live import live_file
from transformer.checkpoint import Checkpoint, load_checkpoint, locate
from transformer.data.pairs import read_pairs
from transformer.data.tokenizer import source_ids
from transformer.decoding.beam import Beam, best_ids
from transformer.decoding.sampling import Greedy
from transformer.exchange import pack, round_weights
from transformer.interpret.activations import record
from transformer.interpret.what_if.importance import head_importance
from transformer.model.names import AttentionKind
from transformer.translator import Translator

PARTS = ("equal", "speed", "bleu")
TRACED, TRANSLATED, ABLATED = 200, 1000, 10  # sentences
NEAR = 1e-4
SENTENCE = "The man told us a long story about the sea."  # 12 tokens, and 12 of its translation by en-de
BARS = {"simd": 0.6, "plain": 2.0}  # of PyTorch's trace
HEADS, OPENING, MEGABYTES, FILE = 2.0, 1.5, 200.0, 12.5
LONGEST = 50.0  # milliseconds of the page's main thread in a row, while one types
VIEWS = ("home", "attention", "decoding", "heads", "inside")
UNBARRED = "Chromium plain", "heads"  # all heads are promised with the kernel
LOSS = 0.2  # of BLEU
SECONDS = 2.0  # for each measurement of a round
COLUMNS = {  # title of a column by the key of a measurement
    "trace": "trace, ms",
    "heads": "72 heads, ms",
    "heads first": "first such, ms",
    "opened": "first translation, s",
    "megabytes": "MB",
}


@dataclass(frozen=True)
class Model:
    """A checkpoint as it is shipped, packed, and with the weights that the engine computes with."""

    name: str
    shipped: Checkpoint
    packed: tuple[dict, bytes]
    translator: Translator

    @classmethod
    def load(cls, name: str) -> "Model":
        rounded = load_checkpoint(locate(name))
        packed = pack(rounded)
        round_weights(rounded.model)
        return cls(Path(name).name, load_checkpoint(locate(name)), packed, Translator(rounded))

    def ask(self, kernel: str, questions: Sequence[Sequence[object]]) -> list:
        """Ask the engine in node."""
        with tempfile.TemporaryDirectory() as folder:
            [answers] = ask_engine(Path(folder), {self.name: self.packed}, [Run(self.name, kernel, questions)])
        return answers

    def sources(self, texts: Sequence[str]) -> list[list[int]]:
        return [source_ids(self.translator.tokenizer, text) for text in texts if self.translator.can_read(text)]


def compare(model: Model, texts: Sequence[str]) -> None:
    """Print how far the engine is from PyTorch, with each kernel."""
    torch_model, sources = model.translator.model, model.sources(texts)[:TRANSLATED]
    greedy = [list(best_ids(torch_model, [source], Greedy())[0]) for source in sources]
    beams = [list(best_ids(torch_model, [source], Beam())[0]) for source in sources]
    rows = []
    for kernel, most in (("simd", TRANSLATED), ("plain", TRACED)):
        far = dict.fromkeys(("logits", *AttentionKind, "losses"), 0.0)
        for begin in range(0, min(TRACED, len(sources)), 20):  # a few at a time: logits fill memory
            some = range(begin, min(begin + 20, TRACED, len(sources)))
            _furthest(model, kernel, [(sources[at], greedy[at]) for at in some], far)
        heads = [(sources[at], greedy[at]) for at in range(min(ABLATED, len(sources)))]
        turned = _losses(model, kernel, heads, far)
        decoded = model.ask(kernel, [["decode", source, {}] for source in sources[:most]])
        searched = model.ask(kernel, [["beam", source, {}] for source in sources[:most]])
        same = sum(one["targetIds"] == ids for one, ids in zip(decoded, greedy, strict=False))
        same_beams = sum(one["ended"][0]["ids"] == ids for one, ids in zip(searched, beams, strict=False))
        count = len(decoded)
        differences = [f"{value:.1e}" for value in far.values()]
        rows.append((kernel, *differences, turned, f"{same} of {count}", f"{same_beams} of {count}"))
    head = ("kernel", "logits", *AttentionKind, "losses of heads", "heads that turn otherwise", "greedy", "beam 4")
    print_table(f"The greatest difference from PyTorch, {TRACED} sentences, at most {NEAR:g}", head, rows)


def _furthest(model: Model, kernel: str, pairs: Sequence[tuple[list[int], list[int]]], far: dict[str, float]) -> None:
    """Note the greatest differences of logits and maps."""
    questions = [question for pair in pairs for question in (["logits", *pair], ["replay", *pair])]
    answers = iter(model.ask(kernel, questions))
    for source, target in pairs:
        seen = record(model.translator.model, [source], [[model.translator.model.config.begin_id, *target[:-1]]])
        logits, replay = next(answers), next(answers)
        far["logits"] = max(far["logits"], float(np.abs(logits - seen.logits[0].numpy().ravel()).max()))
        for kind in AttentionKind:
            expected = seen.weights(kind)[:, 0].numpy().ravel()
            far[kind] = max(far[kind], float(np.abs(replay[kind]["weights"] - expected).max()))


def _losses(model: Model, kernel: str, pairs: Sequence[tuple[list[int], list[int]]], far: dict[str, float]) -> int:
    """Note the greatest difference of what heads are worth; returns how many of them turn a translation otherwise."""
    otherwise = 0
    for (source, target), answer in zip(pairs, model.ask(kernel, [["losses", *pair] for pair in pairs]), strict=True):
        expected = head_importance(model.translator.model, source, target)
        assert expected.turned is not None
        for each in answer["each"]:
            kind, *numbers = each["head"].split(".")
            at = tuple(map(int, numbers))
            far["losses"] = max(far["losses"], float(np.abs(each["losses"] - expected.of(kind)[at]).max()))
            otherwise += bool(each["turned"] != expected.turned[kind][at])
    return otherwise


def compare_bleu(model: Model, pairs: Sequence[tuple[str, str]], name: str) -> None:
    """Print the BLEU of greedy translations with the shipped weights and with int8's."""
    sources, references = [source for source, _ in pairs], [[target for _, target in pairs]]
    both = [Translator(each).translate(sources) for each in (model.shipped, model.translator.checkpoint)]
    shipped, rounded = (sacrebleu.corpus_bleu(texts, references).score for texts in both)
    same = sum(one == other for one, other in zip(*both, strict=True))
    rows = [(name, len(pairs), f"{shipped:.2f}", f"{rounded:.2f}", same, verdict(shipped - rounded, LOSS))]
    print_table("What int8 costs", ("pairs", "of them", "shipped", "int8", "the same", "BLEU lost"), rows)


def measure(model: Model, rounds: int) -> None:
    """Print times of one sentence in PyTorch and Chromium, taken in turn, and the memory of a page."""
    translator, results = model.translator, {}
    trace = translator.trace(SENTENCE)
    ids = list(trace.source_ids), list(trace.target_ids)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "live.html"
        page.write_text(live_file(model.shipped, model.name, None, SENTENCE), encoding="utf-8")
        browser = launch(playwright)
        for _ in range(rounds):
            results.setdefault("PyTorch", []).append(_in_pytorch(translator, *ids))
            for kernel in BARS:
                results.setdefault(f"Chromium {kernel}", []).append(_in_chromium(browser, page, kernel, ids[1]))
        typing = _typing(browser, page)
        browser.close()
        _print_measured(results)
        print(f"the file: {verdict(page.stat().st_size / 1e6, FILE)} MB")
    for view, milliseconds in typing.items():
        print(f"typing in {view}, the main thread's longest task: {verdict(milliseconds, LONGEST)} ms of the processor")


def _print_measured(results: dict[str, list[dict[str, float]]]) -> None:
    rows = [
        (name, *(f"{min(each[key] for each in rounds):.1f}" if key in rounds[0] else "" for key in COLUMNS))
        for name, rounds in results.items()
    ]
    print_table(f"The least of {len(results['PyTorch'])} rounds, {describe_load()}", ("", *COLUMNS.values()), rows)
    # Other load makes all slower, so a ratio is of one round; of several the median.
    for name in ("Chromium simd", "Chromium plain"):
        for key, bar in (("trace", BARS[name.split()[1]]), ("heads", HEADS)):
            pairs = zip(results[name], results["PyTorch"], strict=True)
            ratio = statistics.median(one[key] / other[key] for one, other in pairs)
            print(f"{name}, {key}: {f'{ratio:.2f}' if (name, key) == UNBARRED else verdict(ratio, bar)} of PyTorch's")
        opened, megabytes = (min(each[key] for each in results[name]) for key in ("opened", "megabytes"))
        print(f"{name}: {verdict(opened, OPENING)} s to the first translation, {verdict(megabytes, MEGABYTES)} MB")


def _in_pytorch(translator: Translator, source: list[int], target: list[int]) -> dict[str, float]:
    torch.set_num_threads(1)
    trace = _least_milliseconds(lambda: translator.trace(SENTENCE))
    return {"trace": trace, "heads": _least_milliseconds(lambda: head_importance(translator.model, source, target))}


def _least_milliseconds(work: Callable[[], object]) -> float:
    """Return the least time of as many runs as fit into SECONDS."""
    work()
    times, end = [], time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times) < 3:
        before = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - before))
    return min(times)


# What the page itself asks for, and waits for: messages from and to its worker included.
_MEASURE = """async ([target, seconds]) => {
  const model = await headlight.ready, text = document.querySelector("#live_text").value;
  const time = async (work) => {
    const before = performance.now();
    await work();
    return performance.now() - before;
  };
  const least = async (work) => {
    let found = Infinity;
    for (let end = performance.now() + 1000 * seconds, count = 0; performance.now() < end || count < 3; count++) {
      found = Math.min(found, await time(work));
    }
    return found;
  };
  const heads = () => model.headLosses(text, target, () => {});
  return {
    where: (await model.ready).kernel,
    trace: await least(() => model.trace(text)),
    first: await time(heads), // the helper has to begin
    heads: await least(heads),
  };
}"""
_COMPILES = "'wasm-unsafe-eval'"  # the word in the page's policy without which it computes in plain JavaScript


def _in_chromium(browser: Browser, page: Path, kernel: str, target: list[int]) -> dict[str, float]:
    """Open the page from the disk, offline, and time its computations; memory is that of the page's process."""
    if kernel == "plain":
        text = page.read_text("utf-8")
        page = page.with_name("plain.html")
        page.write_text(text.replace(_COMPILES, "", 1), encoding="utf-8")
    context = browser.new_context(offline=True)
    tab = context.new_page()
    tab.goto(page.as_uri())
    tab.locator("body[data-shown]").wait_for()
    opened = tab.evaluate("performance.now()") / 1e3
    times = tab.evaluate(_MEASURE, [target, SECONDS])
    assert ("WebAssembly" in times["where"]) == (kernel == "simd"), times
    while len(tab.workers) > 1:  # the helper leaves
        tab.wait_for_timeout(100)
    context.new_cdp_session(tab).send("HeapProfiler.collectGarbage")
    megabytes = _renderer_megabytes(browser)
    context.close()
    measured = {"trace": times["trace"], "heads": times["heads"], "heads first": times["first"]}
    return measured | {"opened": opened, "megabytes": megabytes}


def _typing(browser: Browser, page: Path) -> dict[str, float]:
    """Type a sentence in each view; return the longest task of the page's main thread, the processor's milliseconds."""
    context, longest = browser.new_context(offline=True), {}
    tab = context.new_page()
    tab.goto(page.as_uri())
    field = tab.locator("#live_text")
    for view in VIEWS:
        tab.locator("body[data-shown]").wait_for()
        tab.locator(f"[data-tab={view}]").click()
        tab.locator(f"body[data-shown={view}]").wait_for()
        field.fill("")
        with _main_thread_tasks(browser, tab) as tasks:
            field.press_sequentially(f"{SENTENCE} {SENTENCE}", delay=60, timeout=120_000)
            tab.wait_for_timeout(1000)
        longest[view] = max(tasks)
    context.close()
    return longest


@contextmanager
def _main_thread_tasks(browser: Browser, page: Page) -> Iterator[list[float]]:
    """Record the tasks of a page's main thread; after the block the list has their milliseconds of the processor."""
    times: list[float] = []
    browser.start_tracing(page=page, categories=["toplevel", "disabled-by-default-devtools.timeline"])
    yield times
    events = json.loads(browser.stop_tracing())["traceEvents"]
    named = [each for each in events if each.get("name") == "thread_name" and each["args"]["name"] == "CrRendererMain"]
    threads = {(each["pid"], each["tid"]) for each in named}
    tasks = (each for each in events if each.get("ph") == "X" and each["name"].endswith("RunTask"))
    times += [each["tdur"] / 1e3 for each in tasks if (each["pid"], each["tid"]) in threads and "tdur" in each]


def _renderer_megabytes(browser: Browser) -> float:
    """Return the memory of the largest renderer, of which some 120 MB are a blank page's."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    numbers = [each["id"] for each in processes if each["type"] == "renderer"]
    texts = [Path(f"/proc/{number}/smaps_rollup").read_text() for number in numbers]
    return max(int(re.search(r"Rss:\s+(\d+)", text)[1]) * 1.024e-3 for text in texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=["equal", "speed"])
    parser.add_argument("--checkpoint", default="en-de")
    parser.add_argument("--pairs", type=Path, nargs="*", default=[], help="test pairs, for equal (the first) and bleu")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(describe_machine(), describe_load(), sep=", ")
    model = Model.load(options.checkpoint)
    pairs = options.pairs or [locate(options.checkpoint) / "samples.tsv"]
    if "equal" in options.parts:
        compare(model, [source for source, _ in random.Random(1).sample(list(read_pairs(pairs[0])), TRANSLATED)])
    if "bleu" in options.parts:
        for path in pairs:
            compare_bleu(model, list(read_pairs(path)), path.name)
    if "speed" in options.parts:
        measure(model, options.rounds)


if __name__ == "__main__":
    main()
