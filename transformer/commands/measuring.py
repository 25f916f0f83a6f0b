"""Commands that measure the importance of heads over a corpus and pool the tables of its parts."""

import argparse
import logging
from functools import partial
from pathlib import Path

from ..checkpoint import locate
from ..corpus import ImportanceTable, pool_importance
from ..interpret.what_if.importance import ABLATIONS, sum_losses
from ..interpret.what_if.intervention import Mean, Zero
from ..interpret.what_if.running import sum_vectors
from .atlas import merge_atlases
from .corpus import add_corpus, check_out, corpus_job
from .options import AddCommand

logger = logging.getLogger(__name__)

_LINES_PER_CHUNK = 256  # of importance: a pass per head and batch takes long


def add_commands(command: AddCommand) -> None:
    """Add the commands of this file."""
    importance = command("importance", _importance, "measure over a corpus what each head alone is worth")
    importance.add_argument("--out", type=Path, required=True, help="the CSV file to write, and OUT.json beside it")
    replaced = "what a head's output is replaced by"
    importance.add_argument("--ablation", choices=tuple(ABLATIONS), default=Zero.name, help=replaced)
    add_corpus(importance)
    merge = command("merge", _merge, "pool what importance or atlas measured of parts of a corpus")
    tables = "CSV files of importance, with the .json beside each, or folders of atlases"
    merge.add_argument("tables", type=Path, nargs="+", metavar="FILE", help=tables)
    where = "the CSV file to write, and OUT.json beside it, or the folder of an atlas"
    merge.add_argument("--out", type=Path, required=True, help=where)
    merge.add_argument("--checkpoint", type=locate, help="that the atlases are of")


def _importance(options: argparse.Namespace) -> None:
    check_out(options.out)
    with corpus_job(options) as job:
        means = job.measure(sum_vectors).total.means() if options.ablation == Mean.name else None
        measured = job.measure(partial(sum_losses, ablation=options.ablation, means=means), _LINES_PER_CHUNK)
    losses = measured.total
    ImportanceTable(losses, options.ablation, job.provenance(measured)).save(options.out)
    logger.info("%d sentences, log P of a token %.3f on average", losses.sentences, losses.means[-1])
    for heads, loss in losses.importance().ranked()[:3]:
        logger.info("without %s layer %d head %d: %.3f less", heads.kind, heads.layer + 1, heads.head + 1, loss)


def _merge(options: argparse.Namespace) -> None:
    if all(path.is_dir() for path in options.tables):
        return merge_atlases(options)
    check_out(options.out)
    table = pool_importance([ImportanceTable.load(path) for path in options.tables])
    table.save(options.out)
    print(f"{len(options.tables)} tables, {table.sums.sentences} sentences, {table.sums.tokens} tokens")
