"""Times of one sentence, translated and traced, and of batches; beside other libraries with the same trained weights.

The others: transformers' Marian, and CTranslate2 in float32 and int8. All of them must give the same translations, but
for int8, which rounds: the number of sentences that it translates alike is printed.

python -m benchmarks.decode --pairs TEST.tsv.gz [--checkpoint FOLDER] [--rounds N]
"""

import argparse
import multiprocessing
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import torch
from transformers import MarianMTModel

from benchmarks.timing import (
    describe_load,
    describe_machine,
    milliseconds,
    print_table,
    time_interleaved,
    verdict,
)
from transformer import Translator
from transformer.data.batching import Ids
from transformer.data.pairs import read_pairs
from transformer.data.tokenizer import source_ids
from transformer.exchange import export_marian

try:
    import ctranslate2
    from ctranslate2.converters.transformers import BartLoader
except ImportError:
    ctranslate2 = None

WEIGHTS = "float32", "int8"
MISSING = "CTranslate2 is not installed (`pip install -r benchmarks/requirements.txt`): nothing is compared with it."


class CTranslate2Peer:
    """The model of a Marian export with this kind of weights, as many threads as PyTorch has, one batch at a time.

    It runs in a process of its own: where it has run once, every multiplication of a few rows by PyTorch in the same
    process takes twice its time. What goes to it and comes back are ids, a tenth of a millisecond for a sentence.
    """

    def __init__(self, translator: Translator, weights: str):
        self.weights = weights
        tokenizer, config = translator.tokenizer, translator.model.config
        self._tokens = [tokenizer.piece_text(token_id) for token_id in range(len(tokenizer))]
        self._ids = {token: token_id for token_id, token in enumerate(self._tokens)}
        self._length = config.max_length
        with tempfile.TemporaryDirectory() as folder:
            export_marian(translator.checkpoint, Path(folder) / "marian")
            model = MarianMTModel.from_pretrained(Path(folder) / "marian")
            specification = _specification(model, self._tokens, begin=self._tokens[config.begin_id])
            specification.config.eos_token = self._tokens[config.end_id]
            specification.config.unk_token = self._tokens[tokenizer.unknown_id]
            specification.validate()
            specification.optimize(quantization=weights)
            specification.save(folder)
            options = {"compute_type": weights, "inter_threads": 1, "intra_threads": torch.get_num_threads()}
            spawned = multiprocessing.get_context("spawn")
            self._process, theirs = spawned.Pipe()
            spawned.Process(target=_serve, args=(theirs, folder, options), daemon=True).start()
            self._process.recv()  # it has read the folder

    def translate(self, sources: Sequence[Ids]) -> list[tuple[int, ...]]:
        """Return the greedy translation of each source, as ids with the end of sentence, all in one batch."""
        self._process.send(([[self._tokens[token_id] for token_id in source] for source in sources], self._length))
        return [tuple(self._ids[token] for token in each) for each in self._process.recv()]


def _serve(parent: Connection, folder: str, options: dict) -> None:
    """Translate each batch of tokens that the parent sends; what the child process runs."""
    run = ctranslate2.Translator(folder, **options)
    parent.send(None)
    while True:
        try:
            batch, length = parent.recv()
        except EOFError:  # the parent has ended
            return
        results = run.translate_batch(
            batch, beam_size=1, max_batch_size=0, max_input_length=0, max_decoding_length=length, return_end_token=True
        )
        parent.send([each.hypotheses[0] for each in results])


def _specification(model: MarianMTModel, tokens: list[str], begin: str):
    """CTranslate2's description of the model with its weights, whose decoder starts with the token `begin`."""
    loader = BartLoader()
    model.config.normalize_before = model.config.normalize_embedding = False
    specification = loader.get_model_spec(model)
    loader.set_vocabulary(specification, tokens)
    specification.config.decoder_start_token = begin
    specification.config.add_source_eos = False
    return specification


SOURCE_LENGTHS = (12, 40)  # tokens, end of sentence included
OURS = "Headlight"
BATCH = 64  # sentences translated at once
GROUPS = 8  # batches of the test split that are measured
BARS = {  # at each of the lengths
    "trace / translate": (1.2, 1.15),
    "translate / Marian": (0.55, 0.55),
    "trace / Marian with maps": (0.7, 0.7),
    "translate / CTranslate2 float32": (1.0, 1.15),
}
SENTENCES_PER_SECOND = 200
SHARE_OF_CTRANSLATE2 = 1.0  # of its sentences a second in float32


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
    fast, watched = (make_marian(translator, kind) for kind in ("sdpa", "eager"))
    peers = {f"CTranslate2 {kind}": CTranslate2Peer(translator, kind) for kind in WEIGHTS} if ctranslate2 else {}
    print(describe_machine("transformers", *(["ctranslate2"] if peers else [])))
    print(describe_load())
    if not peers:
        print(MISSING)
    plain, eager = (model.config._attn_implementation for model in (fast, watched))
    print(f"Marian's attention: {plain}, with maps {eager}, the only one that returns them")
    cases = [make_case(translator, find_text(translator, texts, length)) for length in SOURCE_LENGTHS]
    runs = [contenders(translator, case, fast, watched) | peers_of(peers, case) for case in cases]
    seconds = [time_interleaved(each, arguments.rounds) for each in runs]
    print_times(cases, seconds)
    print_ratios(cases, seconds)
    print_batches(translator, peers, texts, max(1, arguments.rounds // 6))
    print(describe_load())


def find_text(translator: Translator, texts: Sequence[str], length: int) -> str:
    """Return the first sentence, or run of neighbouring sentences, of exactly `length` source tokens."""
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
    """Return a text with its greedy translation, which Marian has to find too."""
    return Case(text, source_ids(translator.tokenizer, text), translator.hypotheses(text)[0].ids)


def make_marian(translator: Translator, attention: str) -> MarianMTModel:
    """Return the same model, its trained weights exported, as transformers runs it."""
    with tempfile.TemporaryDirectory() as folder:
        export_marian(translator.checkpoint, Path(folder) / "marian")
        model = MarianMTModel.from_pretrained(Path(folder) / "marian", attn_implementation=attention).eval()
    model.generation_config.max_length = None  # or each sentence would be timed with a warning: another limit is given
    return model


def contenders(
    translator: Translator, case: Case, fast: MarianMTModel, watched: MarianMTModel
) -> dict[str, Callable[[], object]]:
    """Return what is timed for one sentence. Marian starts from ids; Headlight's times include its tokenizer."""
    return {
        "translate": lambda: translator.translate([case.text]),
        "trace": lambda: translator.trace(case.text),
        "Marian": lambda: generate(fast, case, with_maps=False),
        "Marian with maps": lambda: generate(watched, case, with_maps=True),
    }


@torch.inference_mode()
def generate(model: MarianMTModel, case: Case, *, with_maps: bool) -> None:
    """Decode greedily with Marian's cache; its translation must be ours, or nothing is timed."""
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


def peers_of(peers: dict[str, CTranslate2Peer], case: Case) -> dict[str, Callable[[], object]]:
    """CTranslate2's runs of one sentence, from ids; in float32 they must find what is found here."""
    for name, peer in peers.items():
        if peer.weights == "float32" and peer.translate([case.source_ids]) != [case.target_ids]:
            raise SystemExit(f"{name} translates {case.text!r} in another way.")
    return {name: partial(peer.translate, [case.source_ids]) for name, peer in peers.items()}


def print_times(cases: list[Case], seconds: list[dict[str, list[float]]]) -> None:
    """Milliseconds a sentence, a column a case."""
    head = ["milliseconds: median (fastest - slowest)"]
    head += [f"{len(case.source_ids)} source, {len(case.target_ids)} new tokens" for case in cases]
    rows = [[name, *(milliseconds(each[name]) for each in seconds)] for name in seconds[0]]
    print_table("One sentence", head, rows)


def print_ratios(cases: list[Case], seconds: list[dict[str, list[float]]]) -> None:
    """Print ratios against their bars, medians over the rounds: noise of a round affects both contenders."""
    rows = []
    for name, bars in BARS.items():
        ours, theirs = name.split(" / ")
        if theirs in seconds[0]:
            ratios = [_ratio(each[ours], each[theirs]) for each in seconds]
            rows.append([name, *map(verdict, ratios, bars)])
    print_table("Ratios, median of rounds", ["", *(f"{len(case.source_ids)} source tokens" for case in cases)], rows)


def print_batches(translator: Translator, peers: dict[str, CTranslate2Peer], texts: Sequence[str], rounds: int) -> None:
    """Sentences a second in batches of 64: the file's first, and the mean over the next ones."""
    groups = [texts[start : start + BATCH] for start in range(0, min(len(texts), GROUPS * BATCH), BATCH)]
    sources = [[source_ids(translator.tokenizer, text) for text in group] for group in groups]
    runs: dict[str, list[Callable[[], object]]] = {OURS: [partial(translator.translate, group) for group in groups]}
    alike = {OURS: ""}
    for name, peer in peers.items():
        runs[name] = [partial(peer.translate, batch) for batch in sources]
        alike[name] = count_alike(translator, peer, groups, sources)
    in_turns = {f"{name} {at}": each[at] for at in range(len(groups)) for name, each in runs.items()}
    seconds = time_interleaved(in_turns, rounds, warmup=1)
    taken = {name: [seconds[f"{name} {at}"] for at in range(len(groups))] for name in runs}
    rows = []
    for name, times in taken.items():
        rates = [len(group) / statistics.median(each) for group, each in zip(groups, times, strict=True)]
        mean = sum(map(len, groups)) / sum(map(statistics.median, times))
        bar = verdict(mean, SENTENCES_PER_SECOND, at_most=False) if name == OURS else f"{mean:.2f}"
        rows.append([name, f"{rates[0]:.0f}", bar, f"{min(rates):.0f} - {max(rates):.0f}", alike[name]])
    head = ["sentences a second", f"first {BATCH}", f"mean over {len(groups)} batches", "slowest - fastest", "alike"]
    print_table(f"Greedy, batches of {BATCH}", head, rows)
    for name in peers:  # a rate is the inverse of a time
        ratio = _ratio([run for each in taken[name] for run in each], [run for each in taken[OURS] for run in each])
        bar = verdict(ratio, SHARE_OF_CTRANSLATE2, at_most=False) if name.endswith("float32") else f"{ratio:.2f}"
        print(f"\nsentences a second beside {name}, median of rounds: {bar}")


def count_alike(translator: Translator, peer: CTranslate2Peer, groups: Sequence[Sequence[str]], sources: list) -> str:
    """Count the sentences that a peer translates token for token as here; in float32 it has to be all."""
    pairs = [
        (ours, theirs)
        for group, batch in zip(groups, sources, strict=True)
        for ours, theirs in zip(translator.best_ids(group), peer.translate(batch), strict=True)
    ]
    text = f"{sum(ours == theirs for ours, theirs in pairs)} of {len(pairs)}"
    if peer.weights == "float32" and not all(ours == theirs for ours, theirs in pairs):
        raise SystemExit(f"CTranslate2 translates only {text} sentences alike.")
    return text


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median over the rounds of one's seconds divided by the other's."""
    return statistics.median(one / other for one, other in zip(ours, theirs, strict=True))


if __name__ == "__main__":
    main()
