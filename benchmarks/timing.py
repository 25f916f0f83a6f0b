"""What both benchmarks share: interleaved timing, a description of the machine, tables."""

import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True)
class Timing:
    """Seconds of each run of one contender."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle of the runs: one disturbed run does not move it."""
        return statistics.median(self.seconds)

    @property
    def milliseconds(self) -> str:
        """ "median (fastest - slowest)" in milliseconds."""
        return f"{self.median * 1e3:.1f} ({min(self.seconds) * 1e3:.1f} - {max(self.seconds) * 1e3:.1f})"


def time_interleaved(contenders: dict[str, Callable[[], object]], rounds: int, warmup: int = 3) -> dict[str, Timing]:
    """Run A B C A B C ..., so that whatever else the machine does hits all alike; the warm-up is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(warmup + rounds):
        for name, run in contenders.items():
            started = time.perf_counter()
            run()
            elapsed = time.perf_counter() - started
            if number >= warmup:
                seconds[name].append(elapsed)
    return {name: Timing(tuple(values)) for name, values in seconds.items()}


def memory_bandwidth(megabytes: int = 512, rounds: int = 10) -> float:
    """Bytes a second that all threads together read: the fastest sum over a buffer far larger than any cache."""
    buffer = torch.ones(megabytes * 2**20 // 4)
    timing = time_interleaved({"sum": buffer.sum}, rounds)["sum"]
    return buffer.nbytes / min(timing.seconds)


def describe_machine(*packages: str) -> str:
    """Processor, threads, and the versions of Python, torch and these other packages."""
    versions = [f"{package} {__import__(package).__version__}" for package in ("torch", *packages)]
    return ", ".join(
        [_processor(), f"{torch.get_num_threads()} threads", f"Python {platform.python_version()}", *versions]
    )


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows as a Markdown table with aligned columns."""
    cells = [list(map(str, row)) for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    print(f"\n{title}\n", *lines, sep="\n")


def verdict(value: float, bar: float, at_most: bool) -> str:
    """ "1.20 (at most 1.30: met)" """
    met = value <= bar if at_most else value >= bar
    return f"{value:.2f} ({'at most' if at_most else 'at least'} {bar:g}: {'met' if met else 'MISSED'})"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
