"""What changing a run costs: a head toggled, all heads' importance, a patching map, importance over a corpus.

python -m benchmarks.whatif [--checkpoint FOLDER] [--pairs PAIRS.tsv] [--sentences N] [--rounds N]
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from benchmarks.timing import describe_machine, milliseconds, print_table, time_interleaved, verdict
from transformer import Translator
from transformer.data.batching import SAMPLES, Example, epoch_batches, make_examples
from transformer.data.pairs import read_pairs
from transformer.interpret.activations import Request, record
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.importance import every_head, head_importance, measure_importance
from transformer.interpret.what_if.intervention import Zero
from transformer.interpret.what_if.patching import Question, patching_map
from transformer.interpret.what_if.running import apply_interventions

SOURCE_LENGTH = 12  # tokens, end of sentence included
TOGGLE, IMPORTANCE, PATCHING = 0.5, 0.5, 1.5  # seconds, at most
SOONER = 10  # times, at least: all heads at once beside one at a time
BATCH_TOKENS = 512


@dataclass(frozen=True)
class Case:
    """A sentence with its translation, and another of its length for patching."""

    translator: Translator
    trace: Trace
    question: Question

    def toggle(self) -> None:
        """One head ablated: the translation that this gives, and every map of it."""
        self.translator.trace(self.trace.source_text, interventions=[Zero.of(every_head(self.translator.model)[-1])])

    def all_at_once(self) -> None:
        """Measure what the translation loses without each head, in one batch."""
        head_importance(self.translator.model, self.trace.source_ids, self.trace.target_ids)

    def one_at_a_time(self) -> None:
        """Measure the same by toggling every head in turn."""
        for head in every_head(self.translator.model):
            self.translator.trace(self.trace.source_text, interventions=[Zero.of(head)])

    def one_bare_pass_at_a_time(self) -> None:
        """Measure the same by one pass a head over the given translation, nothing decoded and no map computed."""
        model, nothing = self.translator.model, Request(keep=())
        for head in every_head(model):
            with apply_interventions(model, [Zero.of(head)]):
                record(model, [self.trace.source_ids], [self.trace.decoder_input_ids], nothing).logits.log_softmax(
                    dim=-1
                )

    def patching(self) -> None:
        """Layers by positions, of both stacks."""
        for stack in ("encoder", "decoder"):
            patching_map(self.translator.model, self.question, "residual", stack)

    def patching_one_at_a_time(self) -> None:
        """Compute the same by one bare pass a cell."""
        model = self.translator.model
        cells = (len(model.encoder) + 1) * len(self.question.clean) + (len(model.decoder) + 1) * len(self.question.fed)
        for _ in range(cells):
            record(model, [self.question.corrupted], [self.question.fed], Request(keep=(), logits_to_keep=1))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", default="checkpoints/en-de", help="folder of the model to measure")
    parser.add_argument("--pairs", help="TSV file of sentence pairs; otherwise those that come with the checkpoint")
    parser.add_argument("--sentences", type=int, default=100, help="pairs over which importance is measured")
    parser.add_argument("--rounds", type=int, default=5, help="how often each contender runs")
    arguments = parser.parse_args()
    translator = Translator.load(arguments.checkpoint, "cpu")
    pairs = read_pairs(Path(arguments.pairs or Path(arguments.checkpoint) / SAMPLES))
    print(describe_machine())
    case = make_case(translator, [source for source, _ in pairs])
    tokens = f"{len(case.trace.source_ids)} source and {len(case.trace.target_ids)} target tokens"
    print(f"{len(every_head(translator.model))} heads, a sentence of {tokens}")
    contenders: dict[str, Callable[[], object]] = {
        "trace, nothing changed": lambda: translator.trace(case.trace.source_text),
        "a head toggled": case.toggle,
        "importance, all heads at once": case.all_at_once,
        "importance, each head toggled": case.one_at_a_time,
        "importance, a bare pass a head": case.one_bare_pass_at_a_time,
        "patching map, both stacks": case.patching,
        "patching, a bare pass a cell": case.patching_one_at_a_time,
    }
    print_sentence(time_interleaved(contenders, arguments.rounds, warmup=1))
    examples = make_examples(pairs, translator.tokenizer, translator.model.config.max_length)
    print_corpus(translator, examples[: arguments.sentences])


def make_case(translator: Translator, texts: list[str]) -> Case:
    """Return the first sentence of the length to measure, and its first token replaced for the corrupted run."""
    text = next((each for each in texts if len(translator.pieces(each)) + 1 == SOURCE_LENGTH), None)
    if text is None:
        raise SystemExit(f"The pairs hold no sentence of {SOURCE_LENGTH} tokens.")
    trace = translator.trace(text)
    other = next(token_id for token_id in trace.source_ids[1:] if token_id != trace.source_ids[0])
    corrupted, tokens = (other, *trace.source_ids[1:]), (trace.target_ids[-1], trace.target_ids[0])
    return Case(translator, trace, Question(trace.source_ids, corrupted, trace.decoder_input_ids, tokens))


def print_sentence(seconds: dict[str, list[float]]) -> None:
    """Milliseconds and the bars."""
    middle = {name: statistics.median(runs) for name, runs in seconds.items()}
    print_table(
        "One sentence", ["", "ms: median (fastest - slowest)"], [[n, milliseconds(s)] for n, s in seconds.items()]
    )
    plain, toggle, all_heads, toggles, passes, patching, cells = middle.values()
    rows = [
        ["a head toggled, seconds", verdict(toggle, TOGGLE)],
        ["a head toggled / nothing changed", f"{toggle / plain:.2f}"],
        ["importance of all heads, seconds", verdict(all_heads, IMPORTANCE)],
        ["each head toggled / all at once", verdict(toggles / all_heads, SOONER, at_most=False)],
        ["a bare pass a head / all at once", f"{passes / all_heads:.1f}"],
        ["patching map, seconds", verdict(patching, PATCHING)],
        ["a bare pass a cell / patching map", f"{cells / patching:.1f}"],
    ]
    print_table("Bars and ratios of medians", ["", ""], rows)


def print_corpus(translator: Translator, examples: list[Example]) -> None:
    """Print importance over sentences beside one plain forward pass of the same batches."""
    model, heads = translator.model, len(every_head(translator.model))
    batches = epoch_batches(examples, BATCH_TOKENS, 0.0, model.config.max_length, seed=0)

    def plain() -> None:
        for batch in batches:
            record(model, [each.source for each in batch], [each.target[:-1] for each in batch], Request(keep=()))

    plain()
    before = _seconds(plain)
    importance = _seconds(lambda: measure_importance(model, examples))
    once = (before + _seconds(plain)) / 2
    rows = [
        ["plain forward pass", f"{len(examples) / once:.1f}", "1"],
        [f"importance of {heads} heads", f"{len(examples) / importance:.2f}", f"{importance / once:.0f}"],
    ]
    print_table(f"{len(examples)} sentences, targets given", ["", "sentences a second", "plain passes"], rows)


def _seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    with torch.inference_mode():
        run()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
