"""Options of several commands: checkpoint, device and search; and a progress report."""

import argparse
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ..checkpoint import locate
from ..decoding.beam import Beam, Penalty
from ..decoding.sampling import Greedy
from ..errors import UserError
from ..files import is_installed

DEFAULT_CHECKPOINT = "en-de"

logger = logging.getLogger(__name__)


class AddCommand(Protocol):
    """Function that adds a command: its name, its function and its help; returns the parser of the command."""

    def __call__(
        self, name: str, run: Callable[[argparse.Namespace], int | None], text: str
    ) -> argparse.ArgumentParser: ...


def add_checkpoint(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add --checkpoint; where it is not required, the shipped English to German one is the default."""
    text = f"a checkpoint folder, or the name of a shipped one{'' if required else f' ({DEFAULT_CHECKPOINT})'}"
    default = None if required else DEFAULT_CHECKPOINT  # argparse passes a default that is text through `type`
    parser.add_argument("--checkpoint", type=locate, required=required, default=default, help=text)


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add --device."""
    parser.add_argument("--device", help="cpu, cuda, cuda:1 or mps; otherwise HEADLIGHT_DEVICE, otherwise the best")


def add_search(parser: argparse.ArgumentParser) -> None:
    """Add how a model translates: the beam and its penalty, the languages, the device."""
    parser.add_argument("--beam", type=_beam_size, default=1, help="beam size; 1, the default, is greedy")
    alpha = "exponent of the beam's length penalty, 0.6 by default; 0 is none"
    parser.add_argument("--alpha", type=_alpha, default=Beam.alpha, help=alpha)
    penalty = "form of the beam's length penalty: gnmt, the default, of Wu et al. 2016, or a power of the length"
    parser.add_argument("--penalty", choices=list(map(str, Penalty)), default=Beam.penalty, help=penalty)
    add_addressing(parser)
    add_device(parser)


def add_languages(parser: argparse.ArgumentParser) -> None:
    """Add the languages of a model that has several."""
    parser.add_argument("--target-language", metavar="CODE", help="of an imported model that has several, such as deu")
    parser.add_argument("--source-language", metavar="CODE", help="of an imported model that is told it: NLLB, mBART")


def add_addressing(parser: argparse.ArgumentParser) -> None:
    """Add the options of `addressing`: the languages, and the prefix of a task."""
    add_languages(parser)
    text = "put before each text, for a model with tasks: 'translate English to German:' (T5)"
    parser.add_argument("--prefix", metavar="TEXT", help=text)


def addressing(options: argparse.Namespace) -> tuple[str | None, str | None, str | None]:
    """Return the languages and the task that were asked for, as `Translator.addressed` takes it after a text."""
    return options.target_language, options.source_language, options.prefix


def strategy_of(options: argparse.Namespace) -> Greedy | Beam:
    """Return the strategy that the options of `add_search` ask for."""
    return Greedy() if options.beam == 1 else Beam(options.beam, options.alpha, options.penalty)


def reporter(total: int, unit: str = "sentences") -> Callable[[int], None]:
    """Return a progress callback that logs at most every two seconds."""
    started = reported = time.monotonic()

    def report(done: int) -> None:
        nonlocal reported
        now = time.monotonic()
        if now - reported >= 2:
            reported = now
            logger.info("%d of %d %s, %s", done, total, unit, rate_text(done / (now - started)))

    return report


def refuse_installed(path: Path, instead: str) -> None:
    """Raise UserError for a file to write in the installed package, whose files stay as they came."""
    if is_installed(path):
        raise UserError(f"{path} is in the installed package, whose files stay as they came: {instead}.")


def rate_text(rate: float) -> str:
    """Return "12 a second", or "1 in 5 seconds" where it is slower."""
    return f"{rate:.0f} a second" if rate >= 0.95 else f"1 in {1 / rate:.2g} seconds" if rate else "none so far"


def _beam_size(text: str) -> int:
    size = int(text) if text.isdecimal() else 0
    if not 1 <= size <= 100:
        raise argparse.ArgumentTypeError("a beam's size is a whole number from 1 to 100")
    return size


def _alpha(text: str) -> float:
    try:
        alpha = float(text)
    except ValueError:
        alpha = -1
    if not 0 <= alpha <= 10:
        raise argparse.ArgumentTypeError("the exponent of a length penalty is a number from 0 to 10")
    return alpha
