"""Gold sets of the tiny language, whose translations are word by word."""

from collections.abc import Sequence
from pathlib import Path

from transformer.corpus.alignment.gold import GoldPair

from .tiny import make_pairs


def gold_pair(source: str, target: str) -> GoldPair:
    """A pair of the tiny language, its full stops words of their own, each word linked with the one in its place."""
    words = tuple(tuple(text.replace(".", " .").split()) for text in (source, target))
    links = frozenset((place, place) for place in range(len(words[0])))
    return GoldPair(*words, links, links)


def write_gold(folder: Path, pairs: Sequence[GoldPair]) -> Path:
    """The three files of a gold set."""
    folder.mkdir()
    lines = {
        "source": [" ".join(pair.source) for pair in pairs],
        "target": [" ".join(pair.target) for pair in pairs],
        "links": [
            " ".join(f"{i}{'-' if (i, j) in pair.sure else '?'}{j}" for i, j in sorted(pair.possible)) for pair in pairs
        ],
    }
    for name, texts in lines.items():
        (folder / f"{name}.txt").write_text("".join(f"{text}\n" for text in texts))
    return folder


def tiny_gold(number: int, seed: int) -> list[GoldPair]:
    """So many pairs of the tiny language."""
    return [gold_pair(*pair) for pair in make_pairs(number, seed)]
