"""Commands that measure heads and importance over a corpus and pool the tables of its parts."""

import argparse
import logging
from dataclasses import replace
from functools import partial
from pathlib import Path

from ..checkpoint import locate
from ..corpus import (
    ROLES_FILE,
    HeadRoles,
    ImportanceTable,
    count_head_roles,
    load_roles,
    pool_importance,
    pool_roles,
    save_roles,
)
from ..errors import DataError
from ..files import read_object
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
    heads = command("heads", _heads, "measure over a corpus what each head does")
    where = f"the JSON file to write; the app reads {ROLES_FILE} in a checkpoint's folder"
    heads.add_argument("--out", type=Path, required=True, help=where)
    importance = command("importance", _importance, "measure over a corpus what each head alone is worth")
    importance.add_argument("--out", type=Path, required=True, help="the CSV file to write, and OUT.json beside it")
    replaced = "what a head's output is replaced by"
    importance.add_argument("--ablation", choices=tuple(ABLATIONS), default=Zero.name, help=replaced)
    for parser in (heads, importance):
        add_corpus(parser)
    merge = command("merge", _merge, "pool what heads, importance or atlas measured of parts of a corpus")
    tables = "what heads or importance wrote (a CSV's .json beside it), or folders of atlases"
    merge.add_argument("tables", type=Path, nargs="+", metavar="FILE", help=tables)
    where = "the file to write, of importance a CSV with OUT.json beside it, or the folder of an atlas"
    merge.add_argument("--out", type=Path, required=True, help=where)
    merge.add_argument("--checkpoint", type=locate, help="that the atlases are of")


def _heads(options: argparse.Namespace) -> None:
    check_out(options.out)
    with corpus_job(options) as job:
        measured = job.measure(count_head_roles)
    provenance = job.provenance(measured)
    roles = replace(measured.total, pairs=", ".join(provenance.pairs), provenance=provenance)
    save_roles(options.out, roles)
    _print_roles(roles)


def _print_roles(roles: HeadRoles) -> None:
    import numpy as np

    from ..interpret.head_patterns import Pattern

    for kind, labelled in roles.labelled.items():
        for layer, head in np.ndindex(labelled.shape[:2]):
            counts = labelled[layer, head]
            labels = [f"{list(Pattern)[each]} in {counts[each]}" for each in np.argsort(-counts) if counts[each]]
            text = f"{', '.join(labels)} of {roles.sentences} sentences" if labels else "no label in any sentence"
            print(f"{kind} layer {layer + 1} head {head + 1}: {text}")


def _importance(options: argparse.Namespace) -> None:
    check_out(options.out)
    with corpus_job(options) as job:
        means = job.measure(sum_vectors).total.means() if options.ablation == Mean.name else None
        measured = job.measure(partial(sum_losses, ablation=options.ablation, means=means), _LINES_PER_CHUNK)
    losses = measured.total
    ImportanceTable(losses, options.ablation, job.provenance(measured)).save(options.out)
    logger.info("%d sentences, log P of a token %.3f on average", losses.sentences, losses.means[-1])
    for heads, loss in losses.importance().ranked()[:3]:
        logger.info("without %s layer %d head %d: %.3f less", heads.kind, heads.layer + 1, heads.head + 1, loss)  # type: ignore[operator]


def _merge(options: argparse.Namespace) -> None:
    if all(path.is_dir() for path in options.tables):
        return merge_atlases(options)
    check_out(options.out)
    sorts = {_sort_of(path) for path in options.tables}
    if len(sorts) > 1:
        raise DataError(f"These cannot be pooled: they are of several measurements, {' and '.join(sorted(sorts))}.")
    if sorts == {"heads"}:
        roles = pool_roles([load_roles(path) for path in options.tables])
        save_roles(options.out, roles)
        counts = f"{roles.sentences} sentences"
    else:
        table = pool_importance([ImportanceTable.load(path) for path in options.tables])
        table.save(options.out)
        counts = f"{table.sums.sentences} sentences, {table.sums.tokens} tokens"
    print(f"{len(options.tables)} tables, {counts}")


def _sort_of(path: Path) -> str:
    """Return the name of the command that wrote a table."""
    if path.suffix != ".json":
        return "importance"
    return "heads" if "labelled" in read_object(path) else "importance"
