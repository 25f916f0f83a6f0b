"""Seconds and updates until a toy task is learned, five seeds each, beside torch.nn.Transformer in the same loop.

python -m benchmarks.toy [--tasks copy reverse sort] [--seeds N] [--rounds N]
"""

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.timing import describe_machine, milliseconds, print_table, time_interleaved
from benchmarks.train import PlainObjective, PyTorchTransformer
from transformer.model.device import keep_freed_memory
from transformer.model.distributed import Processes
from transformer.toy.settings import Task, ToySettings
from transformer.toy.training import ToyTraining
from transformer.training.updates import Updater

BAR = 30.0  # seconds to 99 % exact match


@dataclass(frozen=True)
class Result:
    """How one run ended; `seconds` from the first update, without starting Python, to the measurement that met it."""

    task: str
    seed: int
    updates: int
    exact_match: float
    seconds: float
    learned: bool


def learn(task: str, seed: int) -> Result:
    """Train to the goal with the page's own settings."""
    started = time.perf_counter()
    *_, status = ToyTraining(ToySettings(task=task, seed=seed)).run()
    seconds = time.perf_counter() - started
    return Result(task, seed, status.update, status.exact_match, seconds, status.end == "goal")


class PeerTraining(ToyTraining):
    """The same loop around torch.nn.Transformer of the same shape; its exact match is never asked for."""

    def __init__(self, settings: ToySettings):
        super().__init__(settings)
        self.model = PyTorchTransformer(settings.model_config())
        self.updater = Updater(self.model, self.updater.settings, Processes(), PlainObjective)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=list(Task), default=["copy", "reverse"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=100, help="updates of each contender that are timed")
    options = parser.parse_args()
    keep_freed_memory()
    print(describe_machine())
    results = [learn(task, seed) for task in options.tasks for seed in range(1, options.seeds + 1)]
    head = ("task", "seed", "updates", "exact match", "seconds", f"under {BAR:g} s")
    print_table("Until 99 % of 500 held-out sequences are entirely right", head, list(map(_row, results)))
    medians = []
    for task in options.tasks:
        mine = [result for result in results if result.task == task]
        updates, seconds = (statistics.median(getattr(r, name) for r in mine) for name in ("updates", "seconds"))
        medians.append((task, f"{updates:.0f}", f"{seconds:.1f}", f"{max(r.seconds for r in mine):.1f}"))
    print_table("Medians", ("task", "updates", "seconds", "slowest"), medians)
    _beside_the_peer(ToySettings(norm="post"), options.rounds)


def _row(result: Result) -> tuple:
    in_time = "yes" if result.learned and result.seconds < BAR else "NO"
    return (result.task, result.seed, result.updates, f"{result.exact_match:.1%}", f"{result.seconds:.1f}", in_time)


def _beside_the_peer(settings: ToySettings, rounds: int) -> None:
    """Time single updates, one contender after the other, post-norm as the peer has it."""

    def updates(training: ToyTraining) -> Callable[[], None]:
        numbers = itertools.count(1)
        return lambda: training.update(next(numbers))

    contenders = {"Headlight": updates(ToyTraining(settings)), "torch.nn.Transformer": updates(PeerTraining(settings))}
    seconds = time_interleaved(contenders, rounds, warmup=10)
    ours, theirs = map(statistics.median, seconds.values())
    title = "One update of 32 sequences, in milliseconds: median (fastest - slowest)"
    print_table(title, [*seconds, "ratio"], [[*map(milliseconds, seconds.values()), f"{ours / theirs:.2f}"]])


if __name__ == "__main__":
    main()
