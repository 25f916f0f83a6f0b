"""What the commands over a corpus share: their options, and the shards computed on one machine or on many."""

import argparse
import logging
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..data.chunks import CorpusFiles, survey
from ..data.engines import Engine, Here, Local, Ray, Shared
from ..data.measurement import Measurement, Statistics
from ..data.shards import Plan, ShardFolder, ShardWork, measure_shards
from ..errors import UserError
from ..model.device import choose_device, usable_cores
from .options import add_checkpoint, add_device, add_languages, rate_text, refuse_installed

if TYPE_CHECKING:
    from ..model.distributed import Processes

S = TypeVar("S", bound=Statistics)

logger = logging.getLogger(__name__)


def add_corpus(parser: argparse.ArgumentParser) -> None:
    """Add what is measured, and where it is computed."""
    parser.set_defaults(shared=True)
    add_checkpoint(parser)
    told = "files of sentence pairs, TSV or TSV.gz, read one after the other"
    parser.add_argument("--pairs", type=Path, nargs="+", required=True, metavar="FILE", help=told)
    told = "parts to compute on their own, of which a stop costs one; by default as many as take a minute or so"
    parser.add_argument("--shards", type=_positive, help=told)
    parser.add_argument("--resume", action="store_true", help="go on with the unfinished measurement of --out")
    parser.add_argument("--engine", choices=("local", "ray"), default="local", help="where the shards are computed")
    parser.add_argument("--address", help="of a running Ray cluster; without it, Ray runs on this machine")
    told = "processes, or actors of Ray; by default as many as there are cores, or one a GPU"
    parser.add_argument("--workers", type=_positive, help=told)
    add_languages(parser)
    add_device(parser)


@dataclass(frozen=True)
class Corpus:
    """The corpus that a command's options name, and the engine that goes over it."""

    options: argparse.Namespace
    files: CorpusFiles
    engine: Engine
    device: str
    processes: "Processes"

    @property
    def first(self) -> bool:
        """True for the process that writes and prints."""
        return self.processes.first

    def plan(self, measurement: Measurement[S]) -> Plan[S]:
        """Plan a measurement of the options' checkpoint, in shards."""
        options = self.options
        languages = options.target_language, options.source_language
        return Plan.of(options.checkpoint, self.files, measurement, options.shards, languages)

    def measure(self, work: ShardWork, folder: ShardFolder) -> None:
        """Measure the shards that are missing in a folder, all processes together; raises as `ShardFolder.begin`."""
        if self.first:
            folder.begin(work.plan, self.options.resume)
        self.processes.wait()
        missing = folder.missing(work.plan)
        self.processes.wait()  # all share out the same, before the first one is done with any
        report = _reporter(self.files.lines, work.plan.shards)
        here = measure_shards(missing, folder, self.engine, work, report)
        logger.info("%d of %d shards were computed here", here, work.plan.shards)
        self.processes.wait()


@contextmanager
def over_corpus(options: argparse.Namespace) -> Iterator[Corpus]:
    """Read the corpus once and start the engine, which ends with the block."""
    from ..model.distributed import joined  # takes long to import

    if options.address and options.engine != "ray":
        raise UserError("--address is of a Ray cluster: give --engine ray with it.")
    with joined(choose_device(options.device)) as (processes, device):
        files = survey(options.pairs)
        with closing(_engine(options, files, device.type, processes)) as engine:
            try:
                yield Corpus(options, files, engine, str(device), processes)
            except KeyboardInterrupt:
                logger.info("stopped; --resume goes on with the shards that are missing")
                raise


@contextmanager
def parts_beside(out: Path, corpus: Corpus) -> Iterator[Path]:
    """Return "OUT.part", a folder for the shards of what is to be written to OUT, gone when the block has ended well.

    Raises UserError where the file cannot be written, before anything is measured.
    """
    parts = out.with_name(f"{out.name}.part")
    try:
        if corpus.first:
            parts.mkdir(exist_ok=True)
        yield parts
        if corpus.first:
            shutil.rmtree(parts)
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror or error}; --out says where to write.") from error


def check_file(out: Path) -> None:
    """Raise UserError for a file to write that cannot be one."""
    refuse_installed(out, "say with --out where to write")
    if out.is_dir():
        raise UserError(f"{out} is a folder: name a file.")


def _engine(options: argparse.Namespace, files: CorpusFiles, device: str, processes: "Processes") -> Engine:
    workers = options.workers or (usable_cores() if device == "cpu" else 1)
    if processes.count > 1:
        if options.engine == "ray" or options.workers:
            raise UserError("Under torchrun its processes are the workers: give neither --engine nor --workers.")
        return Shared(processes)
    if options.engine == "ray":
        return Ray(workers, options.address, gpus=int(device == "cuda"))
    return Here() if workers == 1 else Local(workers)


def _reporter(lines: int, shards: int) -> Callable[[int, int], None]:
    """Return a progress callback that logs each shard, with the time left."""
    started = time.monotonic()

    def report(done: int, missing: int) -> None:
        seconds = time.monotonic() - started
        rate, left = done * lines / shards / seconds, seconds / done * (missing - done)
        logger.info("%d of %d shards, lines: %s, %s left", done, missing, rate_text(rate), _duration(left))

    return report


def _duration(seconds: float) -> str:
    minutes, hours = round(seconds / 60), seconds / 3600
    return f"{hours:.1f} hours" if hours >= 2 else f"{minutes} minutes" if minutes > 2 else f"{seconds:.0f} seconds"


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not 1 <= number <= 4096:
        raise argparse.ArgumentTypeError("a whole number from 1 to 4096")
    return number
