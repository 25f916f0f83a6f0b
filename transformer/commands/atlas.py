"""The atlas of heads from the command line: over a corpus of any length, on one machine or on many."""

import argparse
import time
from pathlib import Path

from ..data.engines import Here, Ray, Shared
from ..data.shards import PLAN_FILE, ShardFolder
from ..errors import ConfigError, UserError
from .corpus import add_corpus, over_corpus
from .options import AddCommand, refuse_installed


def add_commands(command: AddCommand) -> None:
    """Add the command of this file."""
    parser = command("atlas", _atlas, "measure over a corpus of any length what each head does, with examples")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write; it has atlas.json for the app")
    parser.add_argument("--importance", type=Path, metavar="CSV", help="what `headlight importance` wrote, to go in")
    add_corpus(parser)


def _atlas(options: argparse.Namespace) -> None:
    from ..interpret.atlas.run import AtlasMeasurement, AtlasWork, draw_examples, read_measured, write_atlas

    started = time.monotonic()
    _refuse_finished(options.out)
    with over_corpus(options) as corpus:
        plan, folder = corpus.plan(AtlasMeasurement()), ShardFolder(options.out)
        measured = read_measured(options.importance, plan.weights)
        work = AtlasWork(plan, corpus.device)
        corpus.measure(work, folder)
        if corpus.first:
            statistics, engine = folder.merged(plan), corpus.engine
            drawn = draw_examples(statistics, Here() if isinstance(engine, Shared | Ray) else engine, work)
            atlas = write_atlas(plan, statistics, drawn, options.out, measured)
            folder.clear(plan)
            seconds = time.monotonic() - started
            print(f"{atlas.sentences_measured} sentences in {seconds:.0f} seconds: {options.out}")


def merge_atlases(options: argparse.Namespace) -> None:
    """Pool the atlases in the folders `options.tables` into `options.out`: their statistics, drawn anew."""
    from ..interpret.atlas.run import AtlasWork, draw_examples, pool, write_atlas

    if options.checkpoint is None:
        raise UserError("Examples are drawn anew: say with --checkpoint what the atlases are of.")
    _refuse_finished(options.out)
    plan, statistics = pool(options.checkpoint, options.tables)
    options.out.mkdir(parents=True, exist_ok=True)
    atlas = write_atlas(plan, statistics, draw_examples(statistics, Here(), AtlasWork(plan)), options.out)
    print(f"{len(options.tables)} atlases, {atlas.sentences_measured} sentences")


def _refuse_finished(out: Path) -> None:
    """Raise UserError for a folder that has a finished atlas, or in the installed package."""
    from ..interpret.atlas.atlas import ATLAS_FILE

    refuse_installed(out, "say with --out where to write")
    if (out / ATLAS_FILE).exists() and not (out / PLAN_FILE).exists():
        raise ConfigError(f"{out} holds an atlas that is finished; give another --out.")
