"""Files of a corpus, and the origin of a measurement: files, weights and program; rules for pooling measurements."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Self

from .. import __version__
from ..data.pairs import read_lines
from ..errors import DataError
from .stored import Count, ShortText

Languages = tuple[str | None, str | None]  # of target and source


@dataclass(frozen=True)
class Corpus:
    """Files of sentence pairs: paths, SHA-256 of their contents, and the lines of all files together.

    languages: target and source, of a model that has several (`TextReader.addressed`).
    """

    paths: tuple[Path, ...]
    digests: tuple[str, ...]
    lines: int
    languages: Languages = (None, None)

    @classmethod
    def open(cls, paths: Sequence[Path], languages: Languages = (None, None)) -> "Corpus":
        """Read all files once. Raises DataError where a file cannot be read, all are empty, or two are the same."""
        digests, lines = [], 0
        for path in paths:
            digest = hashlib.sha256()
            for line in read_lines(path):
                digest.update(line)
                lines += 1
            if digest.hexdigest() in digests:
                raise DataError(f"The pairs of {path} would count twice: another file has the same.")
            digests.append(digest.hexdigest())
        if not lines:
            raise DataError(f"The corpus {', '.join(map(str, paths))} holds no line.")
        return cls(tuple(paths), tuple(digests), lines, languages)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the files without their folders."""
        return tuple(path.name for path in self.paths)

    def chunks(self, lines_per_chunk: int) -> Iterator[list[bytes]]:
        """Yield the lines of all files in chunks."""
        lines = chain.from_iterable(map(read_lines, self.paths))
        while chunk := list(islice(lines, lines_per_chunk)):
            yield chunk


@dataclass(frozen=True)
class Provenance:
    """Names of the corpus's files, SHA-256 of their contents and of the weights, the program's version, the number of
    lines read, and the numbers of skipped lines by reason.
    """

    pairs: tuple[ShortText, ...]
    digests: tuple[ShortText, ...]
    weights: ShortText
    program: ShortText
    lines: Count
    skipped: Mapping[ShortText, Count]

    def __post_init__(self) -> None:
        if len(self.pairs) != len(self.digests):
            raise ValueError(f"{len(self.pairs)} files with {len(self.digests)} digests")

    @classmethod
    def of(cls, corpus: Corpus, weights: str, skipped: Mapping[str, int], **more: Any) -> Self:
        """Describe a measurement of a corpus; more: fields of a subclass."""
        return cls(
            pairs=corpus.names,
            digests=corpus.digests,
            weights=weights,
            program=__version__,
            lines=corpus.lines,
            skipped=dict(sorted(skipped.items())),
            **more,
        )


def pooled(parts: Sequence[Provenance]) -> Provenance:
    """Return the origin of several parts of a corpus together.

    Raises DataError for parts of other weights or programs, or with pairs that would count twice.
    """
    for name, words in (("weights", "of the same weights"), ("program", "measured by one version")):
        if len({getattr(each, name) for each in parts}) > 1:
            raise DataError(f"These cannot be pooled: they are not all {words}.")
    digests = [digest for each in parts for digest in each.digests]
    names = [name for each in parts for name in each.pairs]
    if twice := next((name for name, digest in zip(names, digests, strict=True) if digests.count(digest) > 1), None):
        raise DataError(f"These cannot be pooled: the pairs of {twice} would count twice.")
    return Provenance(
        pairs=tuple(names),
        digests=tuple(digests),
        weights=parts[0].weights,
        program=parts[0].program,
        lines=sum(each.lines for each in parts),
        skipped=dict(sorted(sum((Counter(each.skipped) for each in parts), Counter()).items())),
    )
