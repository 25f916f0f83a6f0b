"""What is measured over a corpus: heads, outputs, importance; merge pools the parts of the last."""

import argparse
import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..checkpoint import locate, weights_digest
from ..data.batching import Example, make_examples
from ..data.pairs import Pairs, read_pairs
from ..data.resumable import CorpusRun
from ..decoding.output_statistics import OUTPUTS_FILE, measure_outputs, save_outputs
from ..errors import UserError
from ..interpret.head_roles import ROLES_FILE, HeadRoles, measure_roles, save_roles
from ..interpret.what_if.importance import ABLATIONS, measure_importance
from ..interpret.what_if.importance_table import ImportanceTable, MeasuredPairs, pool
from ..interpret.what_if.intervention import Zero
from ..model.device import choose_device
from ..translator import Translator
from .atlas import merge_atlases
from .options import (
    AddCommand,
    add_addressing,
    add_checkpoint,
    add_device,
    add_pairs,
    addressing,
    refuse_installed,
    reporter,
)

logger = logging.getLogger(__name__)


def add_commands(command: AddCommand) -> None:
    """Add the commands of this file."""
    heads = command("heads", _heads, "measure over a corpus what each head does")
    outputs = command("outputs", _outputs, "measure over a corpus how sure the model is")
    for parser, name in ((heads, ROLES_FILE), (outputs, OUTPUTS_FILE)):
        where = f"the JSON file to write; {name} in the checkpoint's folder, where the app reads it, by default"
        parser.add_argument("--out", type=Path, help=where)
    importance = command("importance", _importance, "measure over a corpus what each head alone is worth")
    importance.add_argument("--out", type=Path, required=True, help="the CSV file to write, and OUT.json beside it")
    replaced = "what a head's output is replaced by"
    importance.add_argument("--ablation", choices=tuple(ABLATIONS), default=Zero.name, help=replaced)
    for parser in (heads, outputs, importance):
        parser.set_defaults(shared=True)
        parser.add_argument("--resume", action="store_true", help="go on with the unfinished measurement beside --out")
        add_checkpoint(parser)
        add_pairs(parser)
        add_addressing(parser)
        add_device(parser)
    merge = command("merge", _merge, "pool what importance or atlas measured of parts of a corpus")
    told = "what importance wrote, its .json beside it, or folders of atlases"
    merge.add_argument("tables", type=Path, nargs="+", metavar="CSV", help=told)
    told = "the CSV file to write, and OUT.json beside it, or the folder of an atlas"
    merge.add_argument("--out", type=Path, required=True, help=told)
    merge.add_argument("--checkpoint", type=locate, help="that the atlases are of")


@dataclass(frozen=True)
class _Measurement:
    """What a command measures, where it writes the result, and how it goes over the pairs."""

    translator: Translator
    pairs: Pairs
    out: Path
    run: CorpusRun
    is_first: bool  # of several processes, the one that writes and prints

    def examples(self) -> list[Example]:
        """Return the pairs as ids, those that fit the model."""
        return make_examples(self.pairs, self.translator.tokenizer, self.translator.model.config.max_length)

    def run_over(self, sentences: int) -> CorpusRun:
        """Return how to go over so many sentences, the progress in the log."""
        return replace(self.run, progress=reporter(sentences))


@contextlib.contextmanager
def _measuring(options: argparse.Namespace, name: str = "") -> Iterator[_Measurement]:
    """Read the model and its pairs for the block, `name` a file beside the checkpoint for want of --out.

    "OUT.part" keeps what is measured so far. Raises UserError where the result cannot be written, before measuring.
    """
    from ..model.distributed import joined  # takes long to import

    out = options.out or options.checkpoint / name
    refuse_installed(out, "say with --out where to write")
    if out.is_dir():
        raise UserError(f"{out} is a folder: name a file.")
    with joined(choose_device(options.device)) as (processes, device):
        translator = Translator.load(options.checkpoint, device)
        pairs = read_pairs(options.pairs)
        texts = [(translator.addressed(source, *addressing(options)), target) for source, target in pairs]
        run = CorpusRun(saved=out.with_name(f"{out.name}.part"), resume=options.resume, processes=processes)
        try:
            yield _Measurement(translator, Pairs(texts, pairs.lines, pairs.name), out, run, processes.first)
        except KeyboardInterrupt:
            logger.info("stopped; --resume goes on from the sentences that are measured")
            raise
        except OSError as error:
            raise UserError(
                f"{out} cannot be written: {error.strerror or error}; --out says where to write."
            ) from error
        if processes.first:
            run.saved.unlink()  # type: ignore[union-attr]


def _heads(options: argparse.Namespace) -> None:
    with _measuring(options, ROLES_FILE) as this:
        examples = this.examples()
        measured = this.translator.model, this.translator.tokenizer, examples, options.pairs.name
        roles = measure_roles(*measured, this.run_over(len(examples)))
        if this.is_first:
            save_roles(this.out, roles)
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


def _outputs(options: argparse.Namespace) -> None:
    with _measuring(options, OUTPUTS_FILE) as this:
        texts = [source for source, _ in this.pairs]
        model, tokenizer = this.translator.model, this.translator.tokenizer
        measured = measure_outputs(model, tokenizer, texts, options.pairs.name, this.run_over(len(texts)))
        if this.is_first:
            save_outputs(this.out, measured)
            median = measured.mean_log_probabilities[measured.sentences // 2]
            print(
                f"{measured.sentences} sentences: median of the mean log-probabilities {median:.2f}, "
                f"{measured.typical_split():.1%} of the words in three tokens or more"
            )


def _importance(options: argparse.Namespace) -> None:
    with _measuring(options) as this:
        examples = this.examples()
        sums = measure_importance(this.translator.model, examples, options.ablation, run=this.run_over(len(examples)))
        if this.is_first:
            pairs = MeasuredPairs.of(options.pairs.name, examples)
            ImportanceTable(sums, weights_digest(options.checkpoint), options.ablation, (pairs,)).save(this.out)
            logger.info("%d sentences, log P of a token %.3f on average", sums.sentences, sums.means[-1])
            for heads, loss in sums.importance().ranked()[:3]:
                logger.info("without %s layer %d head %d: %.3f less", heads.kind, heads.layer + 1, heads.head + 1, loss)  # type: ignore[operator]


def _merge(options: argparse.Namespace) -> None:
    refuse_installed(options.out, "say with --out where to write")
    if all(path.is_dir() for path in options.tables):
        return merge_atlases(options)
    pooled = pool([ImportanceTable.load(path) for path in options.tables])
    pooled.save(options.out)
    print(f"{len(options.tables)} tables, {pooled.sums.sentences} sentences, {pooled.sums.tokens} tokens")
