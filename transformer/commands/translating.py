"""Commands with sentences: translate, evaluate, trace."""

import argparse
import io
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from ..data.pairs import read_pairs
from ..decoding.beam import Beam
from ..errors import DataError, EmptyTextError, UserError
from ..interpret.trace import Trace
from ..translator import Translator
from .options import (
    AddCommand,
    add_checkpoint,
    add_search,
    addressing,
    refuse_installed,
    reporter,
    strategy_of,
)


def add_commands(command: AddCommand) -> None:
    """Add the commands of this file."""
    translate = command("translate", _translate, "translate sentences, or standard input, one a line")
    translate.add_argument("texts", nargs="*", metavar="TEXT", help="a sentence; without any, those of standard input")
    add_checkpoint(translate, required=False)
    evaluate = command("evaluate", _evaluate, "BLEU and chrF on pairs; the last line is JSON")
    add_checkpoint(evaluate)
    evaluate.add_argument(
        "--pairs", type=Path, required=True, help="pairs to translate and compare with, TSV or TSV.gz"
    )
    tokenized = "the text is tokenized already: BLEU takes its words as they are (sacreBLEU's tokenize=none)"
    evaluate.add_argument("--tokenized", action="store_const", const="none", default="13a", help=tokenized)
    evaluate.add_argument("--write", action="store_true", help="also write the score into training.json")
    trace = command("trace", _trace, "write every attention weight of one sentence as arrays")
    add_sentence(trace, ".npz")
    for parser in (translate, evaluate):
        add_search(parser)


def add_sentence(parser: argparse.ArgumentParser, kind: str, *, required: bool = True) -> None:
    """Add what a command takes that writes what it traced of one sentence into a file of this kind."""
    parser.add_argument("text", nargs=None if required else "?", help="the source sentence")
    add_checkpoint(parser, required=False)
    parser.add_argument("--target", help="a target to replay instead of the model's own translation")
    parser.add_argument("--out", type=Path, required=required, help=f"the {kind} file to write")
    add_search(parser)


def _translate(options: argparse.Namespace) -> int:
    """Translate what can be translated; a line that cannot leaves an empty line and a message with its number."""
    translator = Translator.load(options.checkpoint, options.device)
    lines = [translator.addressed(line, *addressing(options)) for line in options.texts or _standard_input()]
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
    translated = translator.translate(texts, strategy=strategy_of(options), progress=reporter(len(usable)))
    translations = dict(zip(usable, translated, strict=True))
    _write_utf8()
    for index in range(len(lines)):
        print(translations.get(index, ""))
    return status


def _standard_input() -> list[str]:
    """Return the lines of standard input, whatever bytes it has; a lone CR ends no line."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace", newline="\n")
    return [line.rstrip("\r\n") for line in sys.stdin]


def _write_utf8() -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


def _evaluate(options: argparse.Namespace) -> None:
    from ..evaluation import score

    if options.write:
        refuse_installed(options.checkpoint / "training.json", "copy the checkpoint first")
    translator = Translator.load(options.checkpoint, options.device)
    address = addressing(options)
    pairs = [(translator.addressed(source, *address), target) for source, target in read_pairs(options.pairs)]
    for number, (source, _) in enumerate(pairs, start=1):
        try:
            translator.pieces(source)
        except UserError as error:
            raise DataError(f"Pair {number} of {options.pairs}: {error}") from error
    started = time.perf_counter()
    sources, strategy = [source for source, _ in pairs], strategy_of(options)
    translations = translator.translate(sources, strategy=strategy, progress=reporter(len(pairs)))
    seconds = time.perf_counter() - started
    result = asdict(score(translations, [target for _, target in pairs], options.tokenized))
    if options.write:
        name = options.pairs.name + (" tokenized" if options.tokenized == "none" else "")
        translator.checkpoint.add_score(options.checkpoint, name, strategy.label, result)
    penalty = {"alpha": strategy.alpha, "penalty": strategy.penalty} if isinstance(strategy, Beam) else {}
    print(json.dumps({**result, "beam": options.beam, **penalty, "seconds": round(seconds, 2)}))


def _trace(options: argparse.Namespace) -> None:
    _, trace = trace_sentence(options)
    write_result(options.out, trace.save)
    print(trace.target_text)


def trace_sentence(options: argparse.Namespace) -> tuple[Translator, Trace]:
    """Trace the sentence that the options of `add_sentence` give."""
    translator = Translator.load(options.checkpoint, options.device)
    text = translator.addressed(options.text, *addressing(options))
    return translator, translator.trace(text, target=options.target, strategy=strategy_of(options))


def write_result(path: Path, write: Callable[[Path], None]) -> None:
    """Write the file, and let the translation be printed; raises UserError where it cannot be written."""
    try:
        write(path)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror or error}.") from error
    _write_utf8()
