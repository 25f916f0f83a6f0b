"""A sentence as one HTML file beside BertViz 1.4.1's `model_view(html_action="return")` of the same arrays, in turns;
where inseq is installed, beside inseq 0.7.1's `show(return_html=True)` of the same model and sentence too.

Measured: seconds to make the file, its bytes, and the bytes of the weights in it, float32. Ours has every weight to
four decimals and its own scripts; BertViz's loads three scripts from a CDN when it is opened, which are not counted;
inseq's has one map, its own mean over layers and heads of the cross-attention.
Run with `python -m benchmarks.export`, after `pip install --no-deps bertviz==1.4.1`: its model_view needs torch alone.
inseq needs much else, so it wants an environment of its own.
"""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from headlight.views.attention.explorer_content import explorer_blob, explorer_page
from transformer import Translator
from transformer.interpret.trace import Trace

from .peer_pages import inseq_page, model_view_html, random_trace
from .timing import describe_machine, print_table, spread, time_interleaved

CHECKPOINT = Path(__file__).parents[1] / "checkpoints" / "en-de"
SENTENCE = "The old man next door says that he has never seen such a beautiful garden."
ROUNDS = {"the sentence": 10, "32 tokens a side": 5, "128 tokens a side": 2}
MOST_TIMES, MOST_MORE = 1.5, 300_000  # what a page may have: so many times its data's bytes, and so many more


def main() -> None:
    """Make both pages of a real sentence with en-de, and of random maps of 6 x 8 heads; print a table."""
    translator = Translator.load(CHECKPOINT, "cpu")
    traces = {
        "the sentence": translator.trace(SENTENCE),
        "32 tokens a side": random_trace(32, 1),
        "128 tokens a side": random_trace(128, 2),
    }
    print(describe_machine())
    others = {"inseq": inseq_page(translator, traces["the sentence"])} if find_spec("inseq") else {}
    rows = measure("the sentence", traces.pop("the sentence"), **others)
    rows += [row for name, trace in traces.items() for row in measure(name, trace)]
    head = ["", "page of", "seconds", "kB", "kB of weights in float32", f"at most {MOST_TIMES} x data + 300 kB"]
    print_table("One HTML file", head, rows)


def measure(name: str, trace: Trace, **others: Callable[[], bytes]) -> list[list[str]]:
    """Return a row of the table for each of the two pages of a trace, and for what makes others."""
    makers: dict[str, Callable[[], bytes]] = {
        "explorer": lambda: explorer_page(trace).encode(),
        "BertViz": partial(model_view_html, trace),
        **others,
    }
    seconds = time_interleaved(makers, ROUNDS[name], warmup=1)
    weights = sum(part.nbytes for part in (trace.encoder, trace.decoder, trace.cross))
    rows = []
    for maker, make in makers.items():
        size = len(make())
        limit = MOST_TIMES * len(explorer_blob(trace)) + MOST_MORE
        met = ("met" if size <= limit else "MISSED") if maker == "explorer" else ""
        rows.append([name, maker, spread(seconds[maker], 3), f"{size / 1000:,.0f}", f"{weights / 1000:,.0f}", met])
    return rows


if __name__ == "__main__":
    main()
