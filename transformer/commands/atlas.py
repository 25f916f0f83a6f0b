"""The atlas of heads from the command line: over a corpus of any length, on one machine or on many."""

import argparse
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ..data.engines import Engine, Here, Local, Ray, Shared
from ..errors import UserError
from ..model.device import choose_device, usable_cores
from .options import AddCommand, add_checkpoint, add_device, add_languages, refuse_installed

logger = logging.getLogger(__name__)


def add_commands(command: AddCommand) -> None:
    """Add the command of this file."""
    parser = command("atlas", _atlas, "measure over a corpus of any length what each head does, with examples")
    parser.set_defaults(shared=True)
    add_checkpoint(parser)
    told = "files of sentence pairs, TSV or TSV.gz, read one after the other"
    parser.add_argument("--pairs", type=Path, nargs="+", required=True, metavar="FILE", help=told)
    parser.add_argument("--out", type=Path, required=True, help="the folder to write; it has atlas.json for the app")
    told = "parts to compute on their own, of which a stop costs one; about 4,000 lines each by default"
    parser.add_argument("--shards", type=_positive, help=told)
    parser.add_argument("--resume", action="store_true", help="go on with the unfinished atlas in --out")
    parser.add_argument("--engine", choices=("local", "ray"), default="local", help="where the shards are computed")
    parser.add_argument("--address", help="of a running Ray cluster; without it, Ray runs on this machine")
    told = "processes, or actors of Ray; by default as many as there are cores, or one a GPU"
    parser.add_argument("--workers", type=_positive, help=told)
    parser.add_argument("--importance", type=Path, metavar="CSV", help="what `headlight importance` wrote, to go in")
    add_languages(parser)
    add_device(parser)


def _atlas(options: argparse.Namespace) -> None:
    try:
        _make_atlas(options)
    except KeyboardInterrupt:
        logger.info("stopped; --resume goes on with the shards that are missing")
        raise


def _make_atlas(options: argparse.Namespace) -> None:
    from ..interpret.atlas.run import AtlasWork, Plan, ShardFolder, count_all, draw_examples, finish, read_measured
    from ..model.distributed import joined

    refuse_installed(options.out, "say with --out where to write")
    if options.address and options.engine != "ray":
        raise UserError("--address is of a Ray cluster: give --engine ray with it.")
    started = time.monotonic()
    with joined(choose_device(options.device)) as (processes, device):
        languages = options.target_language, options.source_language
        plan = Plan.of(options.checkpoint, options.pairs, options.shards, languages=languages)
        measured = read_measured(options.importance, plan.weights)
        folder, work = ShardFolder(options.out), AtlasWork(plan, str(device))
        if processes.first:
            folder.begin(plan, options.resume)
        processes.wait()
        missing = folder.missing(plan)
        processes.wait()  # all share out the same, before the first one is done with any
        with _engine(options, device.type, Shared(processes) if processes.count > 1 else None) as engine:
            counted = count_all(missing, folder, engine, work, _reporter(plan.files.lines, plan.shards))
            logger.info("%d of %d shards were computed here", counted, plan.shards)
            processes.wait()
            if processes.first:
                statistics = folder.merged(plan)
                drawn = draw_examples(statistics, Here() if isinstance(engine, Shared | Ray) else engine, work)
                atlas = finish(plan, statistics, drawn, options.out, folder, measured)
                seconds = time.monotonic() - started
                print(f"{atlas.sentences_measured} sentences in {seconds:.0f} seconds: {options.out}")


def merge_atlases(options: argparse.Namespace) -> None:
    """Pool the atlases in the folders `options.tables` into `options.out`: their statistics, drawn anew."""
    from ..interpret.atlas.run import AtlasWork, ShardFolder, draw_examples, finish, pool

    if options.checkpoint is None:
        raise UserError("Examples are drawn anew: say with --checkpoint what the atlases are of.")
    plan, statistics = pool(options.checkpoint, options.tables)
    folder = ShardFolder(options.out)
    folder.begin(plan, resume=False)
    drawn = draw_examples(statistics, Here(), AtlasWork(plan))
    atlas = finish(plan, statistics, drawn, options.out, folder)
    print(f"{len(options.tables)} atlases, {atlas.sentences_measured} sentences")


@contextmanager
def _engine(options: argparse.Namespace, device: str, shared: Shared | None) -> Iterator[Engine]:
    engine: Engine
    workers = options.workers or (usable_cores() if device == "cpu" else 1)
    if shared:
        if options.engine == "ray" or options.workers:
            raise UserError("Under torchrun its processes are the workers: give neither --engine nor --workers.")
        engine = shared
    elif options.engine == "ray":
        engine = Ray(workers, options.address, gpus=int(device == "cuda"))
    else:
        engine = Here() if workers == 1 else Local(workers)
    with closing(engine):
        yield engine


def _reporter(lines: int, shards: int) -> Callable[[int, int], None]:
    """Return a progress callback that logs each shard, with the time left."""
    started = time.monotonic()

    def report(done: int, missing: int) -> None:
        seconds = time.monotonic() - started
        rate, left = done * lines / shards / seconds, seconds / done * (missing - done)
        logger.info("%d of %d shards, %.0f lines a second, %s left", done, missing, rate, _duration(left))

    return report


def _duration(seconds: float) -> str:
    minutes, hours = round(seconds / 60), seconds / 3600
    return f"{hours:.1f} hours" if hours >= 2 else f"{minutes} minutes" if minutes > 2 else f"{seconds:.0f} seconds"


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not 1 <= number <= 4096:
        raise argparse.ArgumentTypeError("a whole number from 1 to 4096")
    return number
