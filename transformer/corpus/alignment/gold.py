"""Gold sets: sentence pairs whose words people have aligned, read from three files of any origin."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import DataError
from ...untrusted import MOST_DESCRIPTION, read_regular

SOURCE, TARGET, LINKS = GOLD_FILES = ("source.txt", "target.txt", "links.txt")

Link = tuple[int, int]  # a word of the source and one of the target, both from 0

_LINK = re.compile(r"([0-9]{1,6})([-?p])([0-9]{1,6})", re.ASCII)
_PAGE = re.compile(r"\s*<(?:!doctype|html|head|\?xml)", re.IGNORECASE)
_MOST_WORDS = 250  # of a sentence: the links of hundreds of heads are held at once


@dataclass(frozen=True)
class GoldPair:
    """One pair as words, and its links: the `sure` ones, and the `possible` ones, which have these among them.

    `line`: its number in the files, from 1.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: frozenset[Link]
    possible: frozenset[Link]
    line: int = 0


@dataclass(frozen=True)
class GoldSet:
    """Sentence pairs with the links that people gave them, and the name of the folder that they are from."""

    name: str
    pairs: tuple[GoldPair, ...]


def read_gold(folder: Path, *, one_based: bool = False, target_first: bool = False) -> GoldSet:
    """Read source.txt, target.txt and links.txt of a folder: a sentence a line, its words apart by spaces.

    A link is "i-j", word i of the source and word j of the target, or "i?j" or "ipj" where it is but possible (Och and
    Ney 2003). They count from 0, from 1 where `one_based`; with `target_first` i is the target's. Raises DataError for
    a file that is missing, larger than 8 MB, a web page, or not in UTF-8, for files of unlike numbers of lines, and,
    naming the line, for a sentence without words, for an invalid link, and for a link to a word that is not there.
    """
    folder = Path(folder)
    sides = [_lines(folder / name) for name in GOLD_FILES]
    counts = [len(lines) for lines in sides]
    if len(set(counts)) > 1:
        counted = ", ".join(f"{name} has {count:,}" for name, count in zip(GOLD_FILES, counts, strict=True))
        raise DataError(f"The gold set {folder} needs as many lines in each file: {counted}.")
    pairs = []
    for number, (source, target, links) in enumerate(zip(*sides, strict=True), start=1):
        words = tuple(source.split()), tuple(target.split())
        for name, side in zip((SOURCE, TARGET), words, strict=True):
            if not 1 <= len(side) <= _MOST_WORDS:
                raise DataError(
                    f"Line {number} of {folder / name} has {len(side):,} words: 1 to {_MOST_WORDS} expected."
                )
        try:
            sure, possible = parse_links(links, one_based=one_based, target_first=target_first)
            _require_words(possible, words, one_based=one_based)
        except ValueError as error:
            raise DataError(f"Line {number} of {folder / LINKS}: {error}.") from error
        pairs.append(GoldPair(*words, sure, possible, number))
    if not any(pair.sure for pair in pairs):
        raise DataError(f"The gold set {folder} has no sure link, so there is nothing to measure against.")
    return GoldSet(folder.name or str(folder), tuple(pairs))


def parse_links(
    text: str, *, one_based: bool = False, target_first: bool = False
) -> tuple[frozenset[Link], frozenset[Link]]:
    """Read a line of links, see `read_gold`: the sure ones, and all; raises ValueError for an invalid link."""
    sure, possible = set(), set()
    for part in text.split():
        matched = _LINK.fullmatch(part)
        if matched is None:
            raise ValueError(f"{part[:40]!r} is no link such as 3-4 or 3?4")
        first, second = int(matched[1]) - one_based, int(matched[3]) - one_based
        if min(first, second) < 0:
            raise ValueError(f"{part!r} counts from 0, and links that count from 1 are expected")
        link = (second, first) if target_first else (first, second)
        possible.add(link)
        if matched[2] == "-":
            sure.add(link)
    return frozenset(sure), frozenset(possible)


def pharaoh(links: Sequence[Link], *, one_based: bool = False) -> str:
    """Write links as a line that other tools read: "0-0 1-2", source first, in order."""
    return " ".join(f"{source + one_based}-{target + one_based}" for source, target in sorted(links))


def _require_words(links: frozenset[Link], words: tuple[Sequence[str], Sequence[str]], *, one_based: bool) -> None:
    for side, (name, of_side) in enumerate(zip(("source", "target"), words, strict=True)):
        beyond = [link[side] for link in links if link[side] >= len(of_side)]
        if beyond:
            hint = "" if one_based or min(beyond) > len(of_side) else " (do these links count from 1?)"
            word, words_there = min(beyond) + one_based, f"{len(of_side)} word{'s' * (len(of_side) != 1)}"
            raise ValueError(f"a link to word {word} of the {name}, which has {words_there}{hint}")


def _lines(path: Path) -> list[str]:
    try:
        text = read_regular(path, MOST_DESCRIPTION).decode("utf-8-sig")
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing: a gold set is a folder of {', '.join(GOLD_FILES)}.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not in UTF-8.") from error
    if _PAGE.match(text):
        raise DataError(f"{path} is a web page, not a list of lines: was an error page saved in its place?")
    return text.removesuffix("\n").split("\n")
