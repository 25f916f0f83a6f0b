"""Interleaved timing, a description of the machine, and tables for all benchmarks."""

import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch


def time_interleaved(
    contenders: dict[str, Callable[[], object]], rounds: int, warmup: int = 3
) -> dict[str, list[float]]:
    """Seconds of each run of A B C A B C ..., so that whatever else the machine does hits all alike.

    The warm-up is not counted.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(warmup + rounds):
        for name, run in contenders.items():
            started = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - started)
    return {name: values[warmup:] for name, values in seconds.items()}


def describe_machine(*packages: str) -> str:
    """Processor, threads, and the versions of Python, torch and these other packages."""
    versions = [f"{package} {__import__(package).__version__}" for package in ("torch", *packages)]
    threads = f"{torch.get_num_threads()} threads"
    return ", ".join([_processor(), threads, f"Python {platform.python_version()}", *versions])


def describe_load() -> str:
    """Return the load of the last minute: above the number of cores, times are long and unsteady."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows as a Markdown table with aligned columns."""
    cells = [list(map(str, row)) for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    print(f"\n{title}\n")
    for row in cells:
        print("|", " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)), "|")


def spread(values: Sequence[float], digits: int = 2) -> str:
    """ "median (least - most)" with so many decimals; the median, for one disturbed run does not move it."""
    middle, least, most = (f"{value:.{digits}f}" for value in (statistics.median(values), min(values), max(values)))
    return f"{middle} ({least} - {most})"


def milliseconds(seconds: Sequence[float]) -> str:
    """ "median (fastest - slowest)" in milliseconds."""
    return spread([1e3 * each for each in seconds], digits=1)


def verdict(value: float, bar: float, *, at_most: bool = True) -> str:
    """ "1.20 (at most 1.30: met)" """
    met = value <= bar if at_most else value >= bar
    return f"{value:.2f} ({'at most' if at_most else 'at least'} {bar:g}: {'met' if met else 'MISSED'})"


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text().splitlines() if listed.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(iter(names), platform.processor() or platform.machine())
