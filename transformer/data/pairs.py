"""Sentence pairs from a file, and the lines that were skipped."""

import contextlib
import errno
import gzip
import logging
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from ..errors import DataError
from ..untrusted import MEGABYTE, most_unpacked, open_at_once, size_text

logger = logging.getLogger(__name__)

TextPairs = Sequence[tuple[str, str]]  # source and target

_SHOWN = 5  # line numbers named a reason
_LONGEST_LINE = MEGABYTE


class Pairs(list):
    """Sentence pairs, source and target, and `lines`: the number of each one's line, from 1, in the file `name`.

    `total`: the lines of that file, those that are no pair among them.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]], lines: Iterable[int], name: str, total: int | None = None):
        super().__init__(pairs)
        self.lines, self.name = list(lines), name
        self.total = max(self.lines, default=0) if total is None else total


def require_pairs(pairs: object) -> None:
    """Raise TypeError unless these are pairs of texts, such as those of two columns: zip(sources, targets)."""
    if not isinstance(pairs, Sequence) or isinstance(pairs, str):
        raise TypeError(f"a list of pairs (source, target) expected, got {type(pairs).__name__}")
    for index, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or list(map(type, pair)) != [str, str]:
            raise TypeError(f"pairs[{index}]: two texts expected, source and target, got {pair!r:.80}")


def read_pairs(path: Path, columns: int = 2) -> Pairs:
    """Read a TSV file (gzip by its name): source, tab, target, a line each, UTF-8.

    With 3 `columns` a line may go on with a tab and the name of its origin, which is not kept. Lines without a tab or
    with more tabs, with an empty side, or not in UTF-8 are skipped, and reported by reason with their numbers. Raises
    DataError when the file cannot be read or nothing usable is in it, a line has more than 1 MB, or a .gz unpacks to
    more than `most_unpacked` allows, 100 times its own size.
    """
    pairs, lines, skipped, number = [], [], SkippedLines(), 0
    for number, line in enumerate(read_lines(path), start=1):
        try:
            pairs.append(parse_pair(line, columns))
            lines.append(number)
        except NoPairError as reason:
            skipped.add(str(reason), number)
    if not pairs:
        why = skipped.report() or "it is empty"
        raise DataError(f"The corpus {path} holds no usable pair of source, tab, target in UTF-8: {why}.")
    if skipped:
        logger.warning("%s: skipped %s", path, skipped.report())
    return Pairs(pairs, lines, str(path), number)


def read_lines(path: Path) -> Iterator[bytes]:
    """Return the lines of a corpus one by one; raises DataError where they cannot be read, as `read_pairs` does."""
    try:
        with _opened(Path(path)) as lines:
            yield from lines
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"The corpus {path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Iterator[bytes]]:
    """Open a corpus and yield its lines; raises OSError, when read, for more than can be of one."""
    with open_at_once(path) as packed:
        if path.name.endswith(".gz"):
            most = most_unpacked(os.fstat(packed.fileno()).st_size)
            with gzip.open(packed) as unpacked:
                yield _lines(unpacked, most)
        else:
            yield _lines(packed, None)


def _lines(file: BinaryIO | gzip.GzipFile, most: int | None) -> Iterator[bytes]:
    number = size = 0
    while line := file.readline(_LONGEST_LINE + 1):
        number, size = number + 1, size + len(line)
        if len(line) > _LONGEST_LINE:
            raise OSError(errno.EFBIG, f"its line {number:,} is longer than {size_text(_LONGEST_LINE)}")
        if most is not None and size > most:
            raise OSError(errno.EFBIG, f"it unpacks to more than {size_text(most)}")
        yield line


class NoPairError(ValueError):
    """Why a line is no pair of sentences."""


def parse_pair(line: bytes, columns: int = 2) -> tuple[str, str]:
    """Return the pair on a line, as `read_pairs` reads it; raises NoPairError."""
    try:
        sides = line.decode("utf-8").rstrip("\r\n").split("\t")
    except UnicodeDecodeError as error:
        raise NoPairError("not in UTF-8") from error
    if len(sides) == 1:
        raise NoPairError("without a tab")
    if len(sides) > columns:
        raise NoPairError(f"with more than {'one tab' if columns == 2 else 'two tabs'}")
    if not all(side.strip() for side in sides[:2]):
        raise NoPairError("with an empty side")
    return sides[0], sides[1]


class SkippedLines:
    """Counts lines by the reason why they were skipped; true when there is one."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._first: dict[str, list[int]] = {}  # numbers of lines, one more than are shown

    def add(self, reason: str, line: int | None) -> None:
        """Count a line, by its number in its file from 1 where that is known; `reason` follows "3 lines" in words."""
        self._counts[reason] = self._counts.get(reason, 0) + 1
        first = self._first.setdefault(reason, [])
        if line is not None and len(first) <= _SHOWN:
            first.append(line)

    def __len__(self) -> int:
        return sum(self._counts.values())

    def report(self) -> str:
        """Such as "3 lines: 1 without a tab (line 2), 2 with an empty side (lines 5, 8)"; empty when there is none."""
        if not self:
            return ""
        reasons = ", ".join(
            f"{count} {reason}{_numbers(self._first[reason])}" for reason, count in self._counts.items()
        )
        return f"{len(self)} {'line' if len(self) == 1 else 'lines'}: {reasons}"


def first_of(lines: Sequence[int | str], most: int) -> str:
    """Return the first line numbers, and that there are more: "2, 5, 8, …"."""
    return ", ".join(map(str, lines[:most])) + (", …" if len(lines) > most else "")


def _numbers(lines: list[int]) -> str:
    return f" ({'line' if len(lines) == 1 else 'lines'} {first_of(lines, _SHOWN)})" if lines else ""
