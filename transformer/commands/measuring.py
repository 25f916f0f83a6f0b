"""What is measured over a corpus: heads, outputs, importance."""

import argparse
import logging
from pathlib import Path

from ..data.pairs import Pairs, read_pairs
from ..model.device import choose_device
from ..translator import Translator
from .options import AddCommand, add_checkpoint, add_device, add_languages, add_pairs, reporter

logger = logging.getLogger(__name__)


def add_commands(command: AddCommand) -> None:
    """Add the commands of this file."""
    heads = command("heads", _heads, "measure over a corpus what each head does; written beside the checkpoint")
    outputs = command("outputs", _outputs, "measure over a corpus how sure the model is; written beside the checkpoint")
    importance = command("importance", _importance, "measure over a corpus what each head alone is worth")
    importance.add_argument("--out", type=Path, required=True, help="the CSV file to write")
    importance.add_argument("--resume", action="store_true", help="go on with the unfinished measurement beside --out")
    for parser in (heads, outputs, importance):
        add_checkpoint(parser)
        add_pairs(parser)
        add_languages(parser)
        add_device(parser)


def _pairs(options: argparse.Namespace, translator: Translator) -> Pairs:
    """The pairs that --pairs names, their sources addressed to the languages that are asked for."""
    pairs, languages = read_pairs(options.pairs), (options.target_language, options.source_language)
    return Pairs(
        [(translator.addressed(source, *languages), target) for source, target in pairs], pairs.lines, pairs.name
    )


def _heads(options: argparse.Namespace) -> None:
    import numpy as np

    from ..data.batching import make_examples
    from ..interpret.head_patterns import Pattern
    from ..interpret.head_roles import ROLES_FILE, measure_roles, save_roles

    translator = Translator.load(options.checkpoint, options.device)
    model, tokenizer = translator.model, translator.tokenizer
    examples = make_examples(_pairs(options, translator), tokenizer, model.config.max_length)
    roles = measure_roles(model, tokenizer, examples, options.pairs.name, reporter(len(examples)))
    save_roles(options.checkpoint / ROLES_FILE, roles)
    for kind, labelled in roles.labelled.items():
        for layer, head in np.ndindex(labelled.shape[:2]):
            counts = labelled[layer, head]
            labels = [f"{list(Pattern)[each]} in {counts[each]}" for each in np.argsort(-counts) if counts[each]]
            found = f"{', '.join(labels)} of {roles.sentences} sentences" if labels else "no label in any sentence"
            print(f"{kind} layer {layer + 1} head {head + 1}: {found}")


def _outputs(options: argparse.Namespace) -> None:
    from ..decoding.output_statistics import OUTPUTS_FILE, measure_outputs, save_outputs

    translator = Translator.load(options.checkpoint, options.device)
    texts = [source for source, _ in _pairs(options, translator)]
    report = reporter(len(texts))
    measured = measure_outputs(translator.model, translator.tokenizer, texts, options.pairs.name, report)
    save_outputs(options.checkpoint / OUTPUTS_FILE, measured)
    median = measured.mean_log_probabilities[measured.sentences // 2]
    print(
        f"{measured.sentences} sentences: median of the mean log-probabilities {median:.2f}, "
        f"{measured.typical_split():.1%} of the words in three tokens or more"
    )


def _importance(options: argparse.Namespace) -> None:
    from ..interpret.what_if.importance import write_importance
    from ..model.distributed import joined

    with joined(choose_device(options.device)) as (processes, device):
        own = Translator.load(options.checkpoint, device)
        pairs = _pairs(options, own)
        try:
            write_importance(options.out, own.model, own.tokenizer, pairs, options.resume, processes, reporter)
        except KeyboardInterrupt:
            logger.info("stopped; --resume goes on from the sentences that are measured")
            raise
