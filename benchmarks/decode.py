"""How long one sentence takes to translate and to trace, against Marian on the same weights and against memory.

python -m benchmarks.decode --pairs TEST.tsv.gz [--checkpoint FOLDER] [--rounds N]
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from transformers import MarianMTModel

from benchmarks.timing import describe_machine, memory_bandwidth, milliseconds, print_table, time_interleaved, verdict
from transformer import Translator
from transformer.data.pairs import read_pairs
from transformer.exchange.exporting import export_marian
from transformer.model.transformer import Transformer

SOURCE_LENGTHS = (12, 40)  # tokens, end of sentence included
BATCH = 64  # sentences translated at once
GROUPS = 8  # batches of the test split that are measured
BARS = {"trace / translate": 1.3, "translate / Marian": 0.6, "trace / Marian with maps": 0.7}
SENTENCES_A_SECOND = 200


@dataclass(frozen=True)
class Case:
    """One sentence, its tokens and those of its translation."""

    text: str
    source_ids: list[int]
    target_ids: tuple[int, ...]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", default="checkpoints/en-de", help="folder of the model to measure")
    parser.add_argument("--pairs", required=True, help="TSV file of sentence pairs, the test split")
    parser.add_argument("--rounds", type=int, default=30, help="how often each contender runs")
    arguments = parser.parse_args()
    translator = Translator.load(arguments.checkpoint, "cpu")
    texts = [source for source, _ in read_pairs(arguments.pairs)]
    bandwidth = memory_bandwidth()
    fast, watched = (make_marian(translator, kind) for kind in ("sdpa", "eager"))
    print(describe_machine("transformers"))
    plain, eager = (model.config._attn_implementation for model in (fast, watched))
    print(f"{bandwidth / 1e9:.1f} GB/s read from memory by all threads")
    print(f"Marian's attention: {plain}, with maps {eager}, the only one that returns them")
    cases = [make_case(translator, find_text(translator, texts, length)) for length in SOURCE_LENGTHS]
    seconds = [time_interleaved(contenders(translator, case, fast, watched), arguments.rounds) for case in cases]
    floors = [floor_seconds(translator.model, case, bandwidth) for case in cases]
    print_times(cases, seconds, floors)
    print_ratios(cases, seconds, floors)
    print_batches(translator, texts, max(1, arguments.rounds // 6))


def find_text(translator: Translator, texts: Sequence[str], length: int) -> str:
    """The first sentence, or run of neighbouring sentences, of exactly `length` source tokens."""
    for first in range(len(texts)):
        for after in range(first + 1, len(texts) + 1):
            text = " ".join(texts[first:after])
            tokens = len(translator.pieces(text)) + 1
            if tokens == length:
                return text
            if tokens > length:
                break
    raise SystemExit(f"The pairs hold no text of {length} tokens.")


def make_case(translator: Translator, text: str) -> Case:
    """A text with its greedy translation, which Marian has to find too."""
    source_ids = [*(piece.id for piece in translator.pieces(text)), translator.tokenizer.end_id]
    return Case(text, source_ids, translator.hypotheses(text)[0].ids)


def make_marian(translator: Translator, attention: str) -> MarianMTModel:
    """The same model, its trained weights exported, as transformers runs it."""
    with tempfile.TemporaryDirectory() as folder:
        export_marian(translator.checkpoint, Path(folder) / "marian")
        return MarianMTModel.from_pretrained(Path(folder) / "marian", attn_implementation=attention).eval()


def contenders(
    translator: Translator, case: Case, fast: MarianMTModel, watched: MarianMTModel
) -> dict[str, Callable[[], object]]:
    """What is timed for one sentence. Marian starts from ids; Headlight's times include its tokenizer."""
    return {
        "translate": lambda: translator.translate([case.text]),
        "trace": lambda: translator.trace(case.text),
        "Marian": lambda: generate(fast, case, with_maps=False),
        "Marian with maps": lambda: generate(watched, case, with_maps=True),
    }


@torch.inference_mode()
def generate(model: MarianMTModel, case: Case, with_maps: bool) -> None:
    """Greedy decoding with Marian's own cache; what it finds must be what is found here, or nothing is timed."""
    output = model.generate(
        torch.tensor([case.source_ids]),
        attention_mask=torch.ones(1, len(case.source_ids), dtype=torch.int64),
        num_beams=1,
        do_sample=False,
        use_cache=True,
        max_new_tokens=len(case.target_ids),
        output_attentions=with_maps,
        return_dict_in_generate=True,
    )
    if tuple(output.sequences[0, 1:].tolist()) != case.target_ids:
        raise SystemExit(f"Marian translates {case.text!r} in another way.")


def floor_seconds(model: Transformer, case: Case, bandwidth: float) -> float:
    """Seconds to read what is used once a sentence once, and the decoder's other weights and the generator's each step.

    Cross-attention's W_K and W_V, two thirds of its first projection, are used once: the memory does not change.
    """
    memory = sum(_bytes(layer.cross_attention.query_key_value) for layer in model.decoder) * 2 // 3
    once = _bytes(model.encoder) + _bytes(model.encoder_norm) + memory
    step = _bytes(model.decoder) - memory + _bytes(model.decoder_norm) + _bytes(model.output_projection)
    return (once + len(case.target_ids) * step) / bandwidth


def print_times(cases: list[Case], seconds: list[dict[str, list[float]]], floors: list[float]) -> None:
    """Milliseconds a sentence, a column a case."""
    head = ["milliseconds: median (fastest - slowest)"]
    head += [f"{len(case.source_ids)} source, {len(case.target_ids)} new tokens" for case in cases]
    rows = [[name, *(milliseconds(each[name]) for each in seconds)] for name in seconds[0]]
    rows.append(["floor: weights over bandwidth", *(f"{floor * 1e3:.1f}" for floor in floors)])
    print_table("One sentence", head, rows)


def print_ratios(cases: list[Case], seconds: list[dict[str, list[float]]], floors: list[float]) -> None:
    """Ratios of the medians against their bars."""
    medians = [{name: statistics.median(runs) for name, runs in each.items()} for each in seconds]
    rows = []
    for name, bar in BARS.items():
        ours, theirs = name.split(" / ")
        rows.append([name, *(verdict(each[ours] / each[theirs], bar, at_most=True) for each in medians)])
    floor_ratios = [each["translate"] / floor for each, floor in zip(medians, floors, strict=True)]
    rows.append(["translate / floor", *(f"{ratio:.1f}" for ratio in floor_ratios)])
    print_table("Ratios of medians", ["", *(f"{len(case.source_ids)} source tokens" for case in cases)], rows)


def print_batches(translator: Translator, texts: Sequence[str], rounds: int) -> None:
    """Sentences a second in batches of 64: the file's first, and the mean over the next ones."""
    groups = [texts[start : start + BATCH] for start in range(0, min(len(texts), GROUPS * BATCH), BATCH)]
    contenders = {str(number): partial(translator.translate, group) for number, group in enumerate(groups)}
    medians = list(map(statistics.median, time_interleaved(contenders, rounds, warmup=1).values()))
    rates = [len(group) / median for group, median in zip(groups, medians, strict=True)]
    mean = sum(map(len, groups)) / sum(medians)
    rows = [
        [f"first {BATCH} sentences", verdict(rates[0], SENTENCES_A_SECOND, at_most=False)],
        [f"mean over {len(groups)} batches", verdict(mean, SENTENCES_A_SECOND, at_most=False)],
        ["slowest - fastest batch", f"{min(rates):.0f} - {max(rates):.0f}"],
    ]
    print_table(f"Greedy, batches of {BATCH}", ["", "sentences a second"], rows)


def _bytes(module: torch.nn.Module) -> int:
    return sum(parameter.nbytes for parameter in module.parameters())


if __name__ == "__main__":
    main()
