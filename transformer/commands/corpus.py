"""Options of the commands over a corpus, and the corpus and executor that they name."""

import argparse
import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..checkpoint import weights_digest
from ..corpus import (
    LINES_PER_CHUNK,
    Corpus,
    Executor,
    InProcess,
    Measured,
    Measurement,
    ProcessPool,
    Provenance,
    RayTasks,
    load_for_corpus,
    measure_corpus,
)
from ..data.sums import P
from ..errors import UserError
from ..model.device import choose_device, usable_cores
from .options import add_checkpoint, add_device, add_languages, refuse_installed, reporter

logger = logging.getLogger(__name__)


def add_corpus(parser: argparse.ArgumentParser) -> None:
    """Add the options for model, corpus and executor."""
    add_checkpoint(parser)
    pairs = "files of sentence pairs, TSV or TSV.gz, read one after the other"
    parser.add_argument("--pairs", type=Path, nargs="+", required=True, metavar="FILE", help=pairs)
    parser.add_argument("--engine", choices=("local", "ray"), default="local", help="this machine, or a Ray cluster")
    parser.add_argument("--address", help="address of a running Ray cluster; without it, Ray runs on this machine")
    workers = "number of processes, or of Ray tasks at a time; by default one per core, or one on a GPU"
    parser.add_argument("--workers", type=_positive, help=workers)
    add_languages(parser)
    add_device(parser)


@dataclass(frozen=True)
class CorpusJob:
    """Corpus, checkpoint and executor of a command."""

    corpus: Corpus
    checkpoint: Path
    executor: Executor

    def measure(self, measurement: Measurement[P], lines_per_chunk: int = LINES_PER_CHUNK) -> Measured[P]:
        """Measure the corpus and log the progress; raises as `measure_corpus`."""
        report = reporter(self.corpus.lines, "lines")
        return measure_corpus(self.corpus, measurement, self.executor, report, lines_per_chunk)

    def provenance(self, measured: Measured) -> Provenance:
        """Return the origin of a result."""
        return Provenance.of(self.corpus, weights_digest(self.checkpoint), measured.skipped)


@contextmanager
def corpus_job(options: argparse.Namespace) -> Iterator[CorpusJob]:
    """Read the corpus once and start the executor, which stops with the block, also on Ctrl-C."""
    if options.address and options.engine != "ray":
        raise UserError("--address is of a Ray cluster: give --engine ray with it.")
    corpus = Corpus.open(options.pairs, (options.target_language, options.source_language))
    with closing(_executor(options)) as executor:
        yield CorpusJob(corpus, options.checkpoint, executor)


def check_out(out: Path) -> None:
    """Raise UserError, before anything is measured, for a file that cannot be written."""
    refuse_installed(out, "say with --out where to write")
    if out.is_dir():
        raise UserError(f"{out} is a folder: name a file.")
    if not out.parent.is_dir():
        raise UserError(f"{out} cannot be written: {out.parent} is no folder.")


def _executor(options: argparse.Namespace) -> Executor:
    device = str(choose_device(options.device))
    workers = options.workers or (usable_cores() if device == "cpu" else 1)
    checkpoint = options.checkpoint.resolve()
    if options.engine == "ray":
        return RayTasks(checkpoint, device, workers, options.address)
    return InProcess(load_for_corpus(checkpoint, device)) if workers == 1 else ProcessPool(checkpoint, device, workers)


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not 1 <= number <= 4096:
        raise argparse.ArgumentTypeError("a whole number from 1 to 4096")
    return number
