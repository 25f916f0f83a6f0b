"""The command that makes an atlas of heads over a corpus, and the pooling of atlases."""

import argparse
import time
from functools import partial
from pathlib import Path

from ..checkpoint import weights_digest
from ..errors import UserError
from .corpus import add_corpus, corpus_job
from .options import AddCommand, refuse_installed


def add_commands(command: AddCommand) -> None:
    """Add the command of this file."""
    parser = command("atlas", _atlas, "measure over a corpus of any length what each head does, with examples")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write; it has atlas.json for the app")
    parser.add_argument("--importance", type=Path, metavar="CSV", help="what `headlight importance` wrote, to go in")
    add_corpus(parser)


def _atlas(options: argparse.Namespace) -> None:
    from ..corpus import AtlasProvenance, Settings, draw_examples, measure_heads_of, read_importance, write_atlas

    started, settings, importance = time.monotonic(), Settings(), None
    if options.importance:
        importance = read_importance(options.importance, weights_digest(options.checkpoint))
    _make_folder(options.out)
    with corpus_job(options) as job:
        measured = job.measure(partial(measure_heads_of, settings=settings))
        drawn = draw_examples(measured.total, job.executor)
    origin = AtlasProvenance(**vars(job.provenance(measured)), seed=settings.seed, sample=settings.sample)
    atlas = write_atlas(options.checkpoint, origin, measured.total, drawn, options.out, importance)
    print(f"{atlas.sentences_measured} sentences in {time.monotonic() - started:.0f} seconds: {options.out}")


def merge_atlases(options: argparse.Namespace) -> None:
    """Pool the atlases in the folders `options.tables` into `options.out`: their statistics, drawn anew."""
    from ..corpus import InProcess, draw_examples, load_for_corpus, pool_atlases, write_atlas

    if options.checkpoint is None:
        raise UserError("Examples are drawn anew: say with --checkpoint what the atlases are of.")
    provenance, statistics = pool_atlases(options.checkpoint, options.tables)
    _make_folder(options.out)
    drawn = draw_examples(statistics, InProcess(load_for_corpus(options.checkpoint, "cpu")))
    atlas = write_atlas(options.checkpoint, provenance, statistics, drawn, options.out)
    print(f"{len(options.tables)} atlases, {atlas.sentences_measured} sentences")


def _make_folder(out: Path) -> None:
    """Make the folder to write; raises UserError where it cannot be made, or is in the installed package."""
    refuse_installed(out, "say with --out where to write")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror or error}.") from error
