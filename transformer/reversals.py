"""Pairs of random texts and their reversals: a corpus without a licence, whose right answer everyone can see."""

import logging
import random
import string
from pathlib import Path

from .errors import DataError

logger = logging.getLogger(__name__)

LONGEST = 46  # characters; an everyday sentence has as many
SPLITS = {"train": 200_000, "valid": 1000, "test": 2000}

_MARKS = ".,?!'-"
_LONGEST_WORD = 9


def write_reversals(out: Path, seed: int = 1) -> list[Path]:
    """Write out/reversals.{train,valid,test}.tsv, no text in two of them; returns the three paths.

    Raises DataError when the folder cannot be written to.
    """
    generator, seen = random.Random(seed), set()
    paths = []
    for name, count in SPLITS.items():
        lines = []
        while len(lines) < count:
            text = random_text(generator)
            if text not in seen:
                seen.add(text)
                lines.append(f"{text}\t{text[::-1]}\n")
        path = Path(out) / f"reversals.{name}.tsv"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(lines), encoding="utf-8")
        except OSError as error:
            raise DataError(f"{path} cannot be written: {error.strerror}.") from error
        logger.info("%s: %d pairs", path, count)
        paths.append(path)
    return paths


def random_text(generator: random.Random) -> str:
    """Words of random letters, some with a capital, a digit or a mark, of 1 to 46 characters in all."""
    length = generator.randint(1, LONGEST)
    text = _word(generator)
    while len(text) < length:
        text = f"{text} {_word(generator)}"
    return text[:length].strip()


def _word(generator: random.Random) -> str:
    letters = generator.choices(string.ascii_lowercase, k=generator.randint(1, _LONGEST_WORD))
    if generator.random() < 0.25:
        place = generator.randrange(len(letters))
        letters[place] = generator.choice(string.ascii_uppercase + string.digits)
    if generator.random() < 0.25:
        letters.append(generator.choice(_MARKS))
    return "".join(letters)
