"""The command that measures which heads align words against gold links, and aligns the words of a text."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from ..checkpoint import weights_digest
from ..corpus import (
    ALIGNMENT_FILE,
    Aligner,
    AlignmentCounts,
    AlignmentTable,
    Direction,
    Method,
    Reading,
    align_words,
    aligners_of,
    find_alignment,
    measure_alignment,
    pharaoh,
    read_gold,
    save_alignment,
    split_text,
    tabulate,
)
from ..data.pairs import Pairs, read_pairs
from ..errors import EmptyTextError, TooLongError, UserError
from ..translator import Translator
from .corpus import check_out
from .options import AddCommand, add_checkpoint, add_device, add_languages, reporter
from .translating import write_result

_HALVES = ("odd", "even")  # by their place in the gold set, from 1


def add_commands(command: AddCommand) -> None:
    """Add the command of this file."""
    align = command("align", _align, "measure which heads align words against gold links, or align the words of a text")
    align.add_argument("texts", nargs="*", metavar="TEXT", help="sentences to translate and align, one line each")
    add_checkpoint(align)
    align.add_argument("--pairs", type=Path, help="sentence pairs to align, TSV or TSV.gz; words are apart by spaces")
    align.add_argument("--gold", type=Path, metavar="DIR", help="a folder of source.txt, target.txt and links.txt")
    where = f"with --gold: a .csv or .json file to write; the app reads {ALIGNMENT_FILE} in a checkpoint's folder"
    align.add_argument("--out", type=Path, help=where)
    align.add_argument("--by-sentence", action="store_true", help="a row for each sentence in the .csv")
    align.add_argument("--one-based", action="store_true", help="links count words from 1, read and written")
    align.add_argument("--target-first", action="store_true", help="the gold links name the target's word first")
    align.add_argument("--spaced", action="store_true", help="feed the gold's words with all the spaces between them")
    align.add_argument("--seed", type=int, default=0, help="of the standard errors, drawn by sentences; 0 by default")
    which = f"the head to align with, such as 1.5 (layer 1, head 5); the best of {ALIGNMENT_FILE} by default"
    align.add_argument("--head", type=_head, metavar="LAYER.HEAD", help=which)
    token = "the token of a row that is aligned: the one it predicts, or the one it is fed"
    align.add_argument("--reading", choices=tuple(map(str, Reading)), help=token)
    directions = "the side whose every word gets links, target by default; both: links found from both sides; either"
    align.add_argument("--direction", choices=tuple(map(str, Direction)), default="target", help=directions)
    add_languages(align)
    add_device(align)


def _align(options: argparse.Namespace) -> int:
    if sum(map(bool, (options.texts, options.pairs, options.gold))) != 1:
        raise UserError("Say what to align: sentences, or --pairs FILE, or --gold DIR to measure the heads.")
    if not options.gold and (options.out or options.by_sentence):
        raise UserError("--out and --by-sentence go with --gold; alignments of a text are printed.")
    if options.gold:
        _measure(options)
        return 0
    translator = Translator.load(options.checkpoint, options.device)
    return _print_links(options, translator)


def _measure(options: argparse.Namespace) -> None:
    """Measure all aligners against a gold set, print their error rates, and write what --out asks for."""
    _check_out(options)
    gold = read_gold(options.gold, one_based=options.one_based, target_first=options.target_first)
    translator = Translator.load(options.checkpoint, options.device)
    languages = _languages(options, translator)
    counts = measure_alignment(
        translator.model,
        translator.tokenizer,
        gold,
        languages=languages,
        spaced=options.spaced,
        progress=reporter(len(gold.pairs)),
    )
    table = tabulate(counts, weights=weights_digest(options.checkpoint), seed=options.seed)
    if options.out:
        write_result(options.out, _writer(options, counts, table))
    print("\n".join(report(table)))


def _languages(options: argparse.Namespace, translator: Translator) -> tuple[str, str]:
    """Return target's and source's language, "" for one that is not told; raises UserError for what cannot be."""
    languages = options.target_language or "", options.source_language or ""
    translator.addressed("checked", *languages)
    return languages


def _check_out(options: argparse.Namespace) -> None:
    """Raise UserError, before anything is measured, for an --out that cannot be."""
    out = options.out
    if options.by_sentence and (out is None or out.suffix != ".csv"):
        raise UserError("--by-sentence needs --out FILE.csv.")
    if out is None:
        return
    check_out(out)
    if out.suffix not in (".csv", ".json"):
        raise UserError(f"{out}: name a .csv or a .json file.")


def _writer(options: argparse.Namespace, counts: AlignmentCounts, table: AlignmentTable) -> Callable[[Path], None]:
    """Return what writes the result: JSON, or a table whose layers and heads count from 1, as on the pages."""
    if options.out.suffix == ".json":
        return lambda path: save_alignment(path, table)
    frame = (counts if options.by_sentence else table).to_frame()
    for field in ("layer", "head"):
        frame[field] += 1
    return lambda path: frame.to_csv(path, index=False)


def report(table: AlignmentTable) -> list[str]:
    """Return the lines that are printed: every error rate in percent, and the heads that were chosen on a half."""
    title = f"{table.gold}, {table.sentences} sentences: alignment error rate in %, ± standard error"
    lines = [title, "", f"{'':36}{'with punctuation':26}{'without':26}".rstrip()]
    lines.append((f"{'read by the':36}" + f"{'output token':13}{'input token':13}" * 2).rstrip())
    for aligner, rates, errors in zip(table.aligners, table.rates * 100, table.errors[2] * 100, strict=True):
        cells = [f"{rate:.1f} ± {error:.1f}" for rate, error in zip(rates.T.flat, errors.T.flat, strict=True)]
        lines.append(f"{str(aligner):36}" + "".join(f"{cell:13}" for cell in cells).rstrip())
    lines += ["", "The best head of one half of the sentences, and its error rate on the other half:"]
    for each in table.chosen_heads():
        marks = "with" if each.punctuation else "without"
        half = f"{marks} punctuation, {each.reading} token, {_HALVES[each.half]} sentences"
        rates = f"{each.there:.1%} there, {each.elsewhere:.1%} ± {100 * each.standard_error:.1f} on the other"
        lines.append(f"{half:56}{each.head}: {rates}")
    return lines


def _print_links(options: argparse.Namespace, translator: Translator) -> int:
    """Print a line of links for each pair, an empty one for what is no pair, or is too long; those make it fail."""
    aligner, reading = _chosen(options, translator)
    languages = _languages(options, translator)
    pairs, shown = _pairs(options, translator)
    lines = iter(range(1, pairs.total + 1))
    status = int(len(pairs) < pairs.total)
    for number, (source, target) in zip(pairs.lines, pairs, strict=True):
        for _ in iter(lambda: next(lines), number):
            print()
        words = split_text(source), split_text(target)
        try:
            links = align_words(
                translator.model, translator.tokenizer, *words, aligner, reading, languages, options.direction
            )
        except (EmptyTextError, TooLongError) as error:
            print(f"headlight: line {number}: {error}", file=sys.stderr)
            status, links = 1, []
        line = pharaoh(links, one_based=options.one_based)
        print("\t".join([source, target, line]) if shown else line)
    for _ in lines:
        print()
    return status


def _pairs(options: argparse.Namespace, translator: Translator) -> tuple[Pairs, bool]:
    """Return the pairs to align, and whether they are to be printed too: sentences with their translations are."""
    if options.pairs:
        return read_pairs(options.pairs), False
    texts = [translator.addressed(text, options.target_language, options.source_language) for text in options.texts]
    translated = translator.translate(texts, progress=reporter(len(texts)))
    return Pairs(zip(options.texts, translated, strict=True), range(1, len(texts) + 1), "the texts"), True


def _chosen(options: argparse.Namespace, translator: Translator) -> tuple[Aligner, Reading]:
    """Return the head and the reading to align with: those asked for, else the best that was measured."""
    table = find_alignment(options.checkpoint, translator.model)
    if options.head:
        aligner = Aligner(Method.HEAD, *options.head)
        if aligner not in aligners_of(translator.model):
            layers, heads = len(translator.model.decoder), translator.model.config.num_heads
            raise UserError(f"The model has no {aligner}: it has {layers} layers of {heads} heads.")
        if options.reading:
            return aligner, Reading(options.reading)
        if table is None:
            raise _not_measured("--reading output or --reading input")
        return aligner, min(Reading, key=lambda reading: table.rate(aligner, reading)[0])
    if table is None:
        raise _not_measured(f"--head LAYER.HEAD and --reading, or measure {ALIGNMENT_FILE} with --gold")
    aligner, reading = table.best_head()
    return aligner, Reading(options.reading or reading)


def _not_measured(options: str) -> UserError:
    return UserError(f"Which head aligns was not measured for this checkpoint: give {options}.")


def _head(text: str) -> tuple[int, int]:
    """Return layer and head from 0 of "3.5", which counts from 1."""
    layer, _, head = text.partition(".")
    if not all(part.isascii() and part.isdecimal() and 1 <= len(part) <= 4 and int(part) for part in (layer, head)):
        raise argparse.ArgumentTypeError("a layer and a head, counted from 1, such as 1.5, are expected")
    return int(layer) - 1, int(head) - 1
