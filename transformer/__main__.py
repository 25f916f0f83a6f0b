"""The command line: train, translate, evaluate, heads, outputs, importance, trace, import, export, toy, …"""

import argparse
import json
import logging
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path

# What trains and what scores takes long to import: each command imports it when it runs.
from .checkpoint import load_checkpoint, save_checkpoint
from .config import load_experiment
from .data.corpora import TATOEBA, download_tatoeba, write_reversals
from .data.pairs import read_pairs
from .decoding.beam import Beam, Penalty
from .decoding.sampling import Greedy
from .device import choose_device
from .errors import DataError, EmptyTextError, UserError
from .files import new_folder
from .toy.settings import ToySettings
from .translator import Translator

logger = logging.getLogger(__name__)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, 1 for a UserError, 130 when interrupted."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill saves like Ctrl-C
    options = _parser().parse_args(arguments)
    try:
        return options.run(options) or 0
    except BrokenPipeError:
        return 1
    except (UserError, OSError) as error:  # OSError: a disk that is full, a folder that is a file
        print(f"headlight: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m transformer", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int | None], help: str) -> argparse.ArgumentParser:
        subparser = commands.add_parser(name, help=help)
        subparser.set_defaults(run=run)
        return subparser

    train = command("train", _train, "train a model from a configuration and a corpus")
    train.add_argument("config", type=Path, help="a CONFIG.toml, such as configs/en-de.toml")
    train.add_argument("--data", type=Path, required=True, help="training pairs, TSV or TSV.gz")
    train.add_argument("--valid", type=Path, required=True, help="validation pairs, TSV or TSV.gz")
    train.add_argument("--out", type=Path, required=True, help="the checkpoint folder to make")
    train.add_argument("--resume", action="store_true", help="go on with the unfinished run in --out")
    train.add_argument("--warm-start", type=Path, metavar="CHECKPOINT", help="begin with its weights and tokenizer")
    train.add_argument("--tensorboard", type=Path, metavar="FOLDER", help="write TensorBoard's event files there")
    _add_device(train)
    _add_model(command("translate", _translate, "translate standard input, one sentence a line"))
    _add_evaluate_arguments(command("evaluate", _evaluate, "BLEU and chrF on pairs; the last line is JSON"))
    heads = command("heads", _heads, "measure over a corpus what each head does; written beside the checkpoint")
    outputs = command("outputs", _outputs, "measure over a corpus how sure the model is; written beside the checkpoint")
    importance = command("importance", _importance, "measure over a corpus what each head alone is worth")
    importance.add_argument("--out", type=Path, required=True, help="the CSV file to write")
    importance.add_argument("--resume", action="store_true", help="go on with the unfinished measurement beside --out")
    for subparser in (heads, outputs, importance):
        subparser.add_argument("--checkpoint", type=Path, required=True, help="a checkpoint folder")
        subparser.add_argument("--pairs", type=Path, required=True, help="sentence pairs, TSV or TSV.gz")
        _add_device(subparser)
    trace = command("trace", _trace, "write every attention weight of one sentence")
    trace.add_argument("text", help="the source sentence")
    _add_model(trace)
    trace.add_argument("--target", help="a target to replay instead of the model's own translation")
    trace.add_argument("--out", type=Path, required=True, help="the .npz file to write")
    importing = command("import", _import, "make a checkpoint of a model of Marian, BART, mBART, M2M100 or NLLB")
    importing.add_argument("model", help="a folder in Hugging Face's layout, or a name on its hub")
    importing.add_argument("--out", type=Path, required=True, help="the checkpoint folder to make")
    export = command("export", _export, "write a checkpoint as a model for Hugging Face's transformers")
    export.add_argument("checkpoint", type=Path, help="a checkpoint folder")
    export.add_argument("--format", choices=["marian"], default="marian")
    export.add_argument("--out", type=Path, required=True, help="the folder to make")
    toy = command("toy", _toy, "train on copy, reverse or sort, in less than a minute")
    for field in fields(ToySettings):
        kind = str if issubclass(field.type, str) else field.type  # settings check the names among them
        toy.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default)
    toy.add_argument("--out", type=Path, required=True, help="the folder for status.json and film.safetensors")
    reversals = command(
        "reversals", lambda options: write_reversals(options.out), "write pairs of random texts and their reversals"
    )
    download = command("download", _download, "fetch a corpus from its publisher")
    download.add_argument("corpus", choices=["tatoeba"])
    download.add_argument("pair", choices=list(TATOEBA))
    for subparser in (reversals, download):
        subparser.add_argument("--out", type=Path, required=True, help="the folder to write to")
    return parser


def _add_evaluate_arguments(parser: argparse.ArgumentParser) -> None:
    _add_model(parser)
    parser.add_argument("--pairs", type=Path, required=True, help="pairs to translate and compare with")
    help = "the text is tokenized already: BLEU takes its words as they are (sacreBLEU's tokenize=none)"
    parser.add_argument("--tokenized", action="store_const", const="none", default="13a", help=help)
    parser.add_argument("--write", action="store_true", help="also write the score into training.json")


def _add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", help="cpu, cuda, cuda:1 or mps; otherwise HEADLIGHT_DEVICE, otherwise the best")


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--checkpoint", type=Path, required=True, help="a checkpoint folder")
    parser.add_argument("--beam", type=_beam_size, default=1, help="beam size; 1, the default, is greedy")
    parser.add_argument("--alpha", type=_alpha, default=Beam.alpha, help="the beam's length penalty (0.6)")
    parser.add_argument("--penalty", choices=list(map(str, Penalty)), default=Beam.penalty, help="its form (gnmt)")
    parser.add_argument("--target-language", metavar="CODE", help="of an imported model that has several, such as deu")
    parser.add_argument("--source-language", metavar="CODE", help="of an imported model that is told it: NLLB, mBART")
    _add_device(parser)


def _beam_size(text: str) -> int:
    size = int(text)
    if not 1 <= size <= 100:
        raise argparse.ArgumentTypeError("a beam has a size of 1 to 100")
    return size


def _alpha(text: str) -> float:
    alpha = float(text)
    if not 0 <= alpha <= 10:
        raise argparse.ArgumentTypeError("a length penalty is of 0 to 10")
    return alpha


def _strategy(options: argparse.Namespace) -> Greedy | Beam:
    return Greedy() if options.beam == 1 else Beam(options.beam, options.alpha, options.penalty)


def _train(options: argparse.Namespace) -> None:
    from .training.distributed import joined
    from .training.run import train

    with joined(choose_device(options.device)) as (processes, device):
        experiment = load_experiment(options.config)
        pairs, valid_pairs = read_pairs(options.data), read_pairs(options.valid)
        extras = {"warm_start": options.warm_start, "tensorboard": options.tensorboard, "processes": processes}
        train(experiment, pairs, valid_pairs, options.out, device, options.resume, **extras)


def _translate(options: argparse.Namespace) -> int:
    """Translate what can be translated; a line that cannot leaves an empty line and a message with its number."""
    translator = Translator.load(options.checkpoint, options.device)
    sys.stdin.reconfigure(encoding="utf-8", errors="replace", newline="\n")  # a lone CR ends no line
    languages = options.target_language, options.source_language
    lines = [translator.addressed(line.rstrip("\r\n"), *languages) for line in sys.stdin]
    usable, status = [], 0
    for number, line in enumerate(lines, start=1):
        try:
            translator.pieces(line)
            usable.append(number - 1)
        except EmptyTextError:
            pass  # an empty line stays one
        except UserError as error:
            print(f"headlight: line {number}: {error}", file=sys.stderr)
            status = 1
    texts = [lines[i] for i in usable]
    found = translator.translate(texts, strategy=_strategy(options), progress=_reporter(len(usable)))
    translations = dict(zip(usable, found, strict=True))
    sys.stdout.reconfigure(encoding="utf-8")
    for index in range(len(lines)):
        print(translations.get(index, ""))
    return status


def _evaluate(options: argparse.Namespace) -> None:
    from .evaluation import score

    translator = Translator.load(options.checkpoint, options.device)
    languages = options.target_language, options.source_language
    pairs = [(translator.addressed(source, *languages), target) for source, target in read_pairs(options.pairs)]
    for number, (source, _) in enumerate(pairs, start=1):
        try:
            translator.pieces(source)
        except UserError as error:
            raise DataError(f"Pair {number} of {options.pairs}: {error}") from error
    started = time.perf_counter()
    sources, strategy = [source for source, _ in pairs], _strategy(options)
    translations = translator.translate(sources, strategy=strategy, progress=_reporter(len(pairs)))
    seconds = time.perf_counter() - started
    result = asdict(score(translations, [target for _, target in pairs], options.tokenized))
    if options.write:
        name = options.pairs.name + (" tokenized" if options.tokenized == "none" else "")
        translator.checkpoint.add_score(options.checkpoint, name, strategy.label, result)
    penalty = {"alpha": strategy.alpha, "penalty": strategy.penalty} if isinstance(strategy, Beam) else {}
    print(json.dumps({**result, "beam": options.beam, **penalty, "seconds": round(seconds, 2)}))


def _heads(options: argparse.Namespace) -> None:
    import numpy as np

    from .data.batching import make_examples
    from .interpret.head_patterns import Pattern
    from .interpret.head_roles import ROLES_FILE, measure_roles, save_roles

    translator = Translator.load(options.checkpoint, options.device)
    model, tokenizer = translator.model, translator.tokenizer
    examples = make_examples(read_pairs(options.pairs), tokenizer, model.config.max_length)
    roles = measure_roles(model, tokenizer, examples, options.pairs.name, _reporter(len(examples)))
    save_roles(options.checkpoint / ROLES_FILE, roles)
    for kind, labelled in roles.labelled.items():
        for layer, head in np.ndindex(labelled.shape[:2]):
            counts = labelled[layer, head]
            labels = [f"{list(Pattern)[each]} in {counts[each]}" for each in np.argsort(-counts) if counts[each]]
            found = f"{', '.join(labels)} of {roles.sentences} sentences" if labels else "no label in any sentence"
            print(f"{kind} layer {layer + 1} head {head + 1}: {found}")


def _outputs(options: argparse.Namespace) -> None:
    from .decoding.output_statistics import OUTPUTS_FILE, measure_outputs, save_outputs

    translator = Translator.load(options.checkpoint, options.device)
    texts = [source for source, _ in read_pairs(options.pairs)]
    report = _reporter(len(texts))
    measured = measure_outputs(translator.model, translator.tokenizer, texts, options.pairs.name, report)
    save_outputs(options.checkpoint / OUTPUTS_FILE, measured)
    median = measured.mean_log_probabilities[measured.sentences // 2]
    print(
        f"{measured.sentences} sentences: median of the mean log-probabilities {median:.2f}, "
        f"{measured.typical_split():.1%} of the words in three pieces or more"
    )


def _importance(options: argparse.Namespace) -> None:
    from .interpret.what_if.corpus_importance import write_importance
    from .training.distributed import joined

    with joined(choose_device(options.device)) as (processes, device):
        own, pairs = Translator.load(options.checkpoint, device), read_pairs(options.pairs)
        write_importance(options.out, own.model, own.tokenizer, pairs, options.resume, processes, _reporter)


def _trace(options: argparse.Namespace) -> None:
    translator = Translator.load(options.checkpoint, options.device)
    text = translator.addressed(options.text, options.target_language, options.source_language)
    trace = translator.trace(text, target=options.target, strategy=_strategy(options))
    try:
        trace.save(options.out)
    except OSError as error:
        raise UserError(f"{options.out} cannot be written: {error.strerror}.") from error
    sys.stdout.reconfigure(encoding="utf-8")
    print(trace.target_text)


def _import(options: argparse.Namespace) -> None:
    from .exchange.importing import exact_dtype, import_checkpoint

    checkpoint = import_checkpoint(options.model)
    with new_folder(options.out) as made:
        save_checkpoint(made, checkpoint, exact_dtype(checkpoint.model))
    print(f"{options.out}: {checkpoint.model.count_parameters() / 1e6:.1f} M parameters")


def _export(options: argparse.Namespace) -> None:
    from .exchange.exporting import export_marian

    export_marian(load_checkpoint(options.checkpoint), options.out)


def _toy(options: argparse.Namespace) -> None:
    from .toy.training import train_toy

    settings = ToySettings(**{field.name: getattr(options, field.name) for field in fields(ToySettings)})
    options.out.mkdir(parents=True, exist_ok=True)
    print(json.dumps(asdict(train_toy(settings, options.out))))


def _download(options: argparse.Namespace) -> None:
    download_tatoeba(options.pair, options.out)


def _reporter(total: int) -> Callable[[int], None]:
    """A progress callback that logs at most every two seconds."""
    started = reported = time.monotonic()

    def report(done: int) -> None:
        nonlocal reported
        now = time.monotonic()
        if now - reported >= 2:
            reported = now
            logger.info("%d of %d sentences, %.0f a second", done, total, done / (now - started))

    return report


if __name__ == "__main__":
    sys.exit(main())
