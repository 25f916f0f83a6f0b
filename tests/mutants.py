"""Plant the faults of mutants.toml, one at a time, and report which test of their room notices each.

`python tests/mutants.py [--room ROOM] [--only ID ...] [--fast] [--out FILE]`. The faults are planted in a copy of the
working tree. Related test files run first, then the other quick ones, then the slow ones, none of them in a browser.
"""

import argparse
import contextlib
import importlib
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECONDS_PER_FAULT = 300.0
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "node_modules", "__pycache__", ".hypothesis", "*_cache")
PRELOADED = ("torch", "pandas", "plotly.graph_objects", "streamlit.testing.v1", "playwright.sync_api", "sentencepiece")
FORK = multiprocessing.get_context("fork")
PYTEST = ("-x", "-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
QUICK, SLOW = "not browser and not slow", "not browser and slow"
COLUMNS = ("room", "fault", "result", "test", "seconds")
NOTICED, NOT_THERE, FAILS_ANYWAY = "noticed", "does not apply", "fails without the fault"


@dataclass(frozen=True)
class Fault:
    """A change of one place in a file: `old` occurs once and becomes `new`."""

    id: str
    file: str
    what: str
    old: str
    new: str

    def planted_in(self, text: str) -> str | None:
        """Return the text with the fault; None if the old text does not occur exactly once."""
        return text.replace(self.old, self.new) if text.count(self.old) == 1 else None


@dataclass(frozen=True)
class Room:
    """A package with its test files, as glob patterns or folders, and its faults."""

    name: str
    tests: Sequence[str]
    faults: Sequence[Fault]
    javascript: Sequence[str] = ()


def read_rooms() -> list[Room]:
    """Read mutants.toml."""
    rooms = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text(encoding="utf-8"))["room"]
    return [Room(**room | {"faults": [Fault(**fault) for fault in room["faults"]]}) for room in rooms]


def files_of(tree: Path, patterns: Sequence[str]) -> list[Path]:
    """List the files of glob patterns, and the Python tests of folders."""
    paths = [path for pattern in patterns for path in sorted(tree.glob(pattern))]
    files = [file for path in paths for file in (sorted(path.rglob("test_*.py")) if path.is_dir() else [path])]
    return list(dict.fromkeys(files))


class FirstFailure:
    """pytest plugin: remember the first test, or the first file, that fails."""

    name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        self.name = self.name or (report.nodeid if report.failed else "")

    pytest_collectreport = pytest_runtest_logreport


def run_pytest(tree: Path, arguments: Sequence[str], result: Connection) -> None:
    """Run pytest in this process; send the first failure, "" for none."""
    os.setsid()
    os.chdir(tree)
    first, nowhere = FirstFailure(), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    code = pytest.main([*PYTEST, *arguments], plugins=[first])
    passed = code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    result.send("" if passed else first.name or f"pytest ended with {int(code)}")


def failing_test(tree: Path, arguments: Sequence[str], seconds: float) -> str:
    """Return the first failing test, "" for none. Raises TimeoutError. The fork saves importing the libraries."""
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=run_pytest, args=(tree, arguments, sender))
    process.start()
    assert process.pid
    sender.close()
    try:
        if not receiver.poll(seconds):
            raise TimeoutError
        return receiver.recv()
    except EOFError:
        return "the process died"
    finally:
        process.kill()
        with contextlib.suppress(ProcessLookupError):  # the servers that tests have started
            os.killpg(process.pid, signal.SIGKILL)
        process.join()


def failing_javascript(tree: Path, room: Room) -> str:
    """Return the first failing test of node, "" for none. Raises TimeoutError."""
    files = map(str, files_of(tree, room.javascript))
    command = ["node", "--import", "./tests/javascript/texts.js", "--test", "--test-reporter=tap", *files]
    try:
        ended = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=SECONDS_PER_FAULT)
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    failed = re.search(r"not ok \d+ - (.*)", ended.stdout)
    return "" if ended.returncode == 0 else failed[1] if failed else f"node ended with {ended.returncode}"


def failures(tree: Path, room: Room, fault: Fault, *, fast: bool) -> Iterator[str]:
    """Run the room's tests in stages; yield the first failing test of each, "" for none. Raises TimeoutError."""
    end = time.monotonic() + SECONDS_PER_FAULT
    if fault.file.endswith(".js"):
        yield failing_javascript(tree, room)
    files, path = files_of(tree, room.tests), Path(fault.file)
    word = re.compile(rf"\b{path.parent.name if path.stem == '__init__' else path.stem}\b")
    mentions = {file: len(word.findall(file.read_text(encoding="utf-8"))) for file in files}
    related = sorted((file for file in files if mentions[file]), key=lambda file: -mentions[file])
    others = [file for file in files if not mentions[file]]
    for marker, some in ((QUICK, related), (QUICK, others), *(() if fast else ((SLOW, [*related, *others]),))):
        names = [str(file.relative_to(tree)) for file in some]
        yield failing_test(tree, ["-m", marker, *names], max(0.0, end - time.monotonic())) if names else ""


@cache
def fails_anyway(tree: Path, test: str) -> bool:
    """Run a test alone against the tree without a fault."""
    return "::" in test and bool(failing_test(tree, [test], SECONDS_PER_FAULT))


def measure(tree: Path, room: Room, fault: Fault, *, fast: bool) -> tuple[str, str]:
    """Plant the fault and run the tests; return the result and the test that noticed the fault."""
    path = tree / fault.file
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if (planted := fault.planted_in(text)) is None:
        return NOT_THERE, f"{text.count(fault.old)} times in {fault.file}"
    path.write_text(planted, encoding="utf-8")
    try:
        test = next(filter(None, failures(tree, room, fault, fast=fast)), "")
    except TimeoutError:
        return "timeout", ""
    finally:
        path.write_text(text, encoding="utf-8")
    return FAILS_ANYWAY if fails_anyway(tree, test) else NOTICED if test else "unnoticed", test


def main() -> int:
    """Measure the chosen faults, print a table, and return 1 if one could not be measured."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--room", help="a room of mutants.toml; all without it")
    parser.add_argument("--only", nargs="+", metavar="ID", help="these faults alone")
    parser.add_argument("--fast", action="store_true", help="leave out the slow tests")
    parser.add_argument("--out", type=Path, help="a TSV file to continue: faults that it has are not measured again")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in PRELOADED:
        importlib.import_module(name)
    earlier = options.out.read_text(encoding="utf-8").splitlines() if options.out and options.out.exists() else []
    results = [tuple(line.split("\t")) for line in earlier[1:]]
    done = {name for _, name, *_ in results}
    faults = [(room, fault) for room in read_rooms() if options.room in (None, room.name) for fault in room.faults]
    faults = [each for each in faults if each[1].id not in done and each[1].id in (options.only or [each[1].id])]
    with tempfile.TemporaryDirectory() as folder, open(options.out or os.devnull, "a", encoding="utf-8") as file:
        tree = shutil.copytree(ROOT, Path(folder) / "tree", ignore=LEFT_OUT)
        print(*COLUMNS, sep="\t", file=sys.stdout if earlier else file)
        for room, fault in faults:
            began = time.monotonic()
            result, test = measure(tree, room, fault, fast=options.fast)
            results.append((room.name, fault.id, result, test, f"{time.monotonic() - began:.0f}"))
            for stream in (file, sys.stdout):
                print(*results[-1], sep="\t", file=stream, flush=True)
    print(f"{sum(result == NOTICED for _, _, result, *_ in results)} of {len(results)} noticed")
    return int(any(result in (NOT_THERE, FAILS_ANYWAY) for _, _, result, *_ in results))


if __name__ == "__main__":
    raise SystemExit(main())
