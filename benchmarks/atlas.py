"""What an atlas costs beside the passes it is made from: sentences a second, and the memory as the corpus grows.

The bare passes are teacher-forced, in the same batches, in as many processes of one thread each, logits computed and
dropped. Run with `python -m benchmarks.atlas --pairs tatoeba.en-de.train.tsv.gz`.
"""

import argparse
import gzip
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import torch

from benchmarks.timing import describe_load, describe_machine, print_table, spread, verdict
from transformer import Translator
from transformer.checkpoint import locate, place
from transformer.data.batching import Example, fill_batches
from transformer.data.chunks import TOKENS_A_BATCH, ChunkReader, batches_of, survey
from transformer.data.engines import Compute, Engine, Here, Local
from transformer.data.shards import Plan, ShardFolder, measure_shards
from transformer.interpret.activations import Request, record
from transformer.interpret.atlas.batch import Vocabulary, record_batch
from transformer.interpret.atlas.run import AtlasMeasurement, AtlasWork, draw_examples, write_atlas
from transformer.interpret.atlas.statistics import Settings
from transformer.interpret.atlas.statistics import statistics as statistics_of
from transformer.model.device import usable_cores
from transformer.model.transformer import Transformer

LEAST, MOST_GROWTH = 0.6, 1.1  # of the bare passes' sentences a second; of memory from 2,000 to 20,000 sentences
_GROWTH = 128  # sentences of each length
_BARE = Request(keep=())
_MEMORY = "--memory"  # the option under which a process of its own measures


@dataclass(frozen=True)
class BarePasses:
    """The passes of a plan's shards, of which nothing is kept."""

    plan: Plan

    def open(self) -> Compute:
        """Read the model, for one thread."""
        torch.set_num_threads(1)
        translator, reader = Translator.load(self.plan.checkpoint, "cpu"), ChunkReader(self.plan.files)
        model = translator.model

        def compute(shard: int) -> bytes:
            for chunk in self.plan.files.chunks_of(shard, self.plan.shards):
                for batch in batches_of(reader.read(chunk), translator, model.config.max_length)[0]:
                    sources, fed = zip(*((each.source, each.target[:-1]) for each in batch.examples), strict=True)
                    record(model, sources, fed, _BARE)
            return b""

        return compute


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=locate, default=locate("en-de"), help="folder of the model to measure")
    parser.add_argument("--pairs", type=Path, required=True, help="TSV.gz file of sentence pairs")
    parser.add_argument("--lines", type=int, default=20_000, help="lines of it that are measured")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is timed, in turns")
    parser.add_argument(_MEMORY, action="store_true", help="print the most memory that an atlas in this process takes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        pairs = _first_lines(options.pairs, folder / "pairs.tsv", options.lines)
        shards = max(1, options.lines // 2048)
        plan = Plan.of(locate(options.checkpoint), survey([pairs]), AtlasMeasurement(), shards)
        if options.memory:
            _make_atlas(plan, folder / "out", Here(), AtlasWork(plan))
            return print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        print(describe_machine(), describe_load(), sep=", ")
        if options.rounds:
            _measure_speed(plan, folder, options.rounds)
        _measure_growth(options.checkpoint)
        _measure_memory(options)


def _measure_speed(plan: Plan, folder: Path, rounds: int) -> None:
    wall: dict[str, list[float]] = {"bare passes": [], "atlas": []}
    cores: dict[str, list[float]] = {name: [] for name in wall}
    for number, name in ((number, name) for number in range(rounds) for name in wall):
        engine, before = Local(usable_cores()), _cpu_seconds()
        work = BarePasses(plan) if name == "bare passes" else AtlasWork(plan)
        list(engine.run(work, range(min(plan.shards, usable_cores()))))  # models are read before the clock runs
        started = time.perf_counter()
        if isinstance(work, AtlasWork):
            _make_atlas(plan, folder / str(number), engine, work)
        else:
            list(engine.run(work, range(plan.shards)))
        wall[name].append(time.perf_counter() - started)
        engine.close()
        cores[name].append(_cpu_seconds() - before)
    rows = []
    for name in wall:
        middle = statistics.median(wall[name])
        rates = f"{plan.files.lines / middle:.0f}", f"{1000 * middle / plan.files.lines:.2f}"
        rows.append((name, spread(wall[name], 1), *rates, spread(cores[name], 1)))
    head = ["", "seconds: median (least - most)", "lines a second", "seconds a thousand", "CPU seconds, models read"]
    print_table(f"{plan.files.lines} lines, {usable_cores()} processes", head, rows)
    for words, values in (("sentences a second", wall), ("sentences a CPU second", cores)):
        ratio = statistics.median(values["bare passes"]) / statistics.median(values["atlas"])
        print(f"The atlas beside the bare passes, {words}: {verdict(ratio, LEAST, at_most=False)}", flush=True)


def _measure_growth(checkpoint: Path) -> None:
    """Print the CPU seconds of a thousand sentences by their length and the model's layers, weights untrained."""
    torch.set_num_threads(1)
    translator, generator = Translator.load(checkpoint, "cpu"), random.Random(0)
    vocabulary, rows = Vocabulary.of(translator.tokenizer), []
    config, first = translator.model.config, translator.model.config.end_id + 1
    for layers, length in ((3, 8), (3, 16), (3, 32), (3, 64), (6, 16), (12, 16)):
        shape = replace(config, num_encoder_layers=layers, num_decoder_layers=layers)
        model = place(Transformer(shape), "cpu")
        ids = [[generator.randrange(first, config.output_size) for _ in range(length - 1)] for _ in range(2 * _GROWTH)]
        examples = [
            Example((*source, config.end_id), (config.begin_id, *target, config.end_id))
            for source, target in zip(ids[::2], ids[1::2], strict=True)
        ]
        seconds = [0.0, 0.0]
        for batch in fill_batches(examples, TOKENS_A_BATCH):
            started = time.process_time()
            recorded = record_batch(model, batch)
            seconds[0] += time.process_time() - started
            started = time.process_time()
            statistics_of(recorded, vocabulary, Settings())
            seconds[1] += time.process_time() - started
        rows.append((f"{layers} + {layers}", length, *(f"{1000 * each / _GROWTH:.1f}" for each in seconds)))
    head = ["layers", "tokens a side", "CPU seconds a thousand: passes", "statistics"]
    print_table(f"Growth, {config.num_heads} heads, d_model {config.d_model}", head, rows)


def _cpu_seconds() -> float:
    """Return what this process and those that it has ended have computed: busy neighbours do not lengthen it."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def _make_atlas(plan: Plan, out: Path, engine: Engine, work: AtlasWork) -> None:
    """Make all files of an atlas."""
    folder = ShardFolder(out)
    folder.begin(plan, resume=False)
    measure_shards(folder.missing(plan), folder, engine, work, lambda done, missing: None)
    counted = folder.merged(plan)
    write_atlas(plan, counted, draw_examples(counted, engine, work), out)


def _measure_memory(options: argparse.Namespace) -> None:
    most = {}
    for lines in (options.lines // 10, options.lines):
        given = ["--checkpoint", options.checkpoint, "--pairs", options.pairs, "--lines", lines, _MEMORY]
        command = [sys.executable, "-m", "benchmarks.atlas", *map(str, given)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        most[lines] = int(done.stdout.split()[-1]) / 1024
    few, many = most.values()
    for lines, megabytes in most.items():
        print(f"{lines} lines: at most {megabytes:.0f} MB in one process")
    print(f"memory: {verdict(many / few, MOST_GROWTH)} times as much")


def _first_lines(path: Path, out: Path, count: int) -> Path:
    with gzip.open(path) as packed:
        out.write_bytes(b"".join(islice(packed, count)))
    return out


if __name__ == "__main__":
    main()
