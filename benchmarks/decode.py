"""How long one sentence takes to translate and to trace, against Marian of the same shape and against memory.

python -m benchmarks.decode --pairs TEST.tsv.gz [--checkpoint FOLDER] [--rounds N]
"""

import argparse
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from transformers import MarianConfig, MarianMTModel

from benchmarks.timing import describe_machine, memory_bandwidth, milliseconds, print_table, time_interleaved, verdict
from transformer import Translator
from transformer.config import ModelConfig
from transformer.data.pairs import read_pairs
from transformer.model.transformer import Transformer

SOURCE_LENGTHS = (12, 40)  # tokens, end of sentence included
BATCH = 64  # sentences translated at once
GROUPS = 8  # batches of the test split that are measured
BARS = {"trace / translate": 1.3, "translate / Marian": 0.6, "trace / Marian with maps": 0.7}
SENTENCES_A_SECOND = 200


@dataclass(frozen=True)
class Case:
    """One sentence, its length and that of its translation in tokens."""

    text: str
    source_ids: list[int]
    new_tokens: int


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
    fast, watched = (make_marian(translator.model.config, kind) for kind in ("sdpa", "eager"))
    print(describe_machine("transformers"))
    print(
        f"{bandwidth / 1e9:.1f} GB/s read from memory by all threads; "
        f"Marian's attention: {fast.config._attn_implementation}, "
        f"with maps {watched.config._attn_implementation}, the only one that returns them"
    )
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
    """A text with the length that its greedy translation turns out to have, which Marian is then held to."""
    source_ids = [*(piece.id for piece in translator.pieces(text)), translator.tokenizer.end_id]
    return Case(text, source_ids, len(translator.hypotheses(text)[0].ids))


def make_marian(config: ModelConfig, attention: str) -> MarianMTModel:
    """A Marian model of the same shape with random weights: three Linear layers for Q, K, V, tied embeddings."""
    return MarianMTModel(
        MarianConfig(
            vocab_size=config.vocab_size,
            d_model=config.d_model,
            encoder_layers=config.num_encoder_layers,
            decoder_layers=config.num_decoder_layers,
            encoder_attention_heads=config.num_heads,
            decoder_attention_heads=config.num_heads,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            max_position_embeddings=config.max_length,
            activation_function="relu",
            scale_embedding=True,
            share_encoder_decoder_embeddings=True,
            tie_word_embeddings=True,
            pad_token_id=config.pad_id,
            bos_token_id=config.begin_id,
            eos_token_id=config.end_id,
            decoder_start_token_id=config.begin_id,
            forced_eos_token_id=None,
            attn_implementation=attention,
        )
    ).eval()


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
    """Greedy decoding with Marian's own cache, held to the same number of new tokens."""
    output = model.generate(
        torch.tensor([case.source_ids]),
        attention_mask=torch.ones(1, len(case.source_ids), dtype=torch.int64),
        num_beams=1,
        do_sample=False,
        use_cache=True,
        min_new_tokens=case.new_tokens,
        max_new_tokens=case.new_tokens,
        output_attentions=with_maps,
        return_dict_in_generate=True,
    )
    made = output.sequences.shape[1] - 1
    if made != case.new_tokens:
        raise SystemExit(f"Marian made {made} new tokens instead of {case.new_tokens}.")


def floor_seconds(model: Transformer, case: Case, bandwidth: float) -> float:
    """Seconds to read what is used once a sentence once, and the decoder's other weights and the generator's each step.

    Cross-attention's W_K and W_V, two thirds of its first projection, are used once: the memory does not change.
    """
    memory = sum(_bytes(layer.cross_attention.query_key_value) for layer in model.decoder) * 2 // 3
    once = _bytes(model.encoder) + _bytes(model.encoder_norm) + memory
    step = _bytes(model.decoder) - memory + _bytes(model.decoder_norm) + _bytes(model.output_projection)
    return (once + case.new_tokens * step) / bandwidth


def print_times(cases: list[Case], seconds: list[dict[str, list[float]]], floors: list[float]) -> None:
    """Milliseconds a sentence, a column a case."""
    head = ["milliseconds: median (fastest - slowest)"]
    head += [f"{len(case.source_ids)} source, {case.new_tokens} new tokens" for case in cases]
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
