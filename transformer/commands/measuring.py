"""Commands that measure heads and importance over a corpus and pool the tables of its parts."""

import argparse
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..checkpoint import load_checkpoint, locate
from ..data.measurement import Provenance, Sums, SumsMeasurement
from ..data.shards import Plan, ShardFolder, ShardWork
from ..errors import DataError
from ..files import read_object
from ..interpret import head_roles
from ..interpret.head_roles import ROLES_FILE, HeadRoles, RolesMeasurement, roles_from, save_roles
from ..interpret.what_if import importance_table
from ..interpret.what_if.importance import ABLATIONS, ImportanceMeasurement, sums_from
from ..interpret.what_if.importance_table import ImportanceTable
from ..interpret.what_if.intervention import Mean, Zero
from ..interpret.what_if.running import MeansMeasurement
from .atlas import merge_atlases
from .corpus import Corpus, add_corpus, check_file, over_corpus, parts_beside
from .options import AddCommand

logger = logging.getLogger(__name__)


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
    told = "what heads or importance wrote (a CSV's .json beside it), or folders of atlases"
    merge.add_argument("tables", type=Path, nargs="+", metavar="FILE", help=told)
    told = "the file to write, of importance a CSV with OUT.json beside it, or the folder of an atlas"
    merge.add_argument("--out", type=Path, required=True, help=told)
    merge.add_argument("--checkpoint", type=locate, help="that the atlases are of")


@contextmanager
def _parts(options: argparse.Namespace) -> Iterator[tuple[Corpus, Path]]:
    """Return the corpus, and the folder of the shards beside --out."""
    check_file(options.out)
    with over_corpus(options) as corpus, parts_beside(options.out, corpus) as parts:
        yield corpus, parts


def _measured(corpus: Corpus, measurement: SumsMeasurement, parts: Path) -> tuple[Plan[Sums], Sums]:
    """Return the sums over all shards, in every process."""
    plan, folder = corpus.plan(measurement), ShardFolder(parts)
    corpus.measure(ShardWork(plan, corpus.device), folder)
    sums = folder.merged(plan)
    corpus.processes.wait()  # all have read, before the first one deletes
    return plan, sums


def _named(provenance: Provenance) -> str:
    return ", ".join(provenance.pairs)


def _heads(options: argparse.Namespace) -> None:
    with _parts(options) as (corpus, parts):
        plan, sums = _measured(corpus, RolesMeasurement(), parts)
        told = plan.provenance(sums)
        if corpus.first:
            heads = load_checkpoint(options.checkpoint).model.config.num_heads
            roles = roles_from(sums, heads, _named(told), told)
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
    with _parts(options) as (corpus, parts):
        means = b""
        if options.ablation == Mean.name:
            plan_of_means, sums_of_means = _measured(corpus, MeansMeasurement(), parts / "means")
            if not sums_of_means.sentences:
                plan_of_means.provenance(sums_of_means)  # raises, and says why
            means = sums_of_means.to_bytes()
        plan, sums = _measured(corpus, ImportanceMeasurement(options.ablation, means), parts)
        told = plan.provenance(sums)
        if corpus.first:
            losses = sums_from(sums, load_checkpoint(options.checkpoint).model)
            ImportanceTable(losses, options.ablation, told).save(options.out)
            logger.info("%d sentences, log P of a token %.3f on average", losses.sentences, losses.means[-1])
            for heads, loss in losses.importance().ranked()[:3]:
                logger.info("without %s layer %d head %d: %.3f less", heads.kind, heads.layer + 1, heads.head + 1, loss)  # type: ignore[operator]


def _merge(options: argparse.Namespace) -> None:
    if all(path.is_dir() for path in options.tables):
        return merge_atlases(options)
    check_file(options.out)
    sorts = {_sort_of(path) for path in options.tables}
    if len(sorts) > 1:
        raise DataError(f"These cannot be pooled: they are of several measurements, {' and '.join(sorted(sorts))}.")
    if sorts == {"heads"}:
        roles = head_roles.pool([head_roles.load_roles(path) for path in options.tables])
        save_roles(options.out, roles)
        told = f"{roles.sentences} sentences"
    else:
        table = importance_table.pool([ImportanceTable.load(path) for path in options.tables])
        table.save(options.out)
        told = f"{table.sums.sentences} sentences, {table.sums.tokens} tokens"
    print(f"{len(options.tables)} tables, {told}")


def _sort_of(path: Path) -> str:
    """Return which command wrote a table."""
    if path.suffix != ".json":
        return "importance"
    content = read_object(path)
    return "heads" if "labelled" in content else "importance"
