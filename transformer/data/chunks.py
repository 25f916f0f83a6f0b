"""A corpus of any length in chunks: so many lines each, cut and batched alike whoever measures which of them.

What a model computes of a sentence differs in its last digits with the batch around it. So the corpus alone decides the
batches: chunks are of the same lines, whatever the shards, and batches are made within a chunk.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from ..errors import DataError
from .batching import Example, Examples, encode_pairs, fill_batches
from .pairs import NoPairError, parse_pair, read_lines
from .reading import TextReader

LINES_A_CHUNK = 512
TOKENS_A_BATCH = 1024  # padding included: more is no faster on a CPU

Pair = tuple[str, str]


@dataclass(frozen=True)
class CorpusFiles:
    """Files of sentence pairs, read one after the other: paths, SHA-256 of their content, and lines of all together,
    of which so many are a chunk.
    """

    paths: tuple[str, ...]
    digests: tuple[str, ...]
    lines: int
    lines_a_chunk: int = LINES_A_CHUNK

    @property
    def names(self) -> tuple[str, ...]:
        """The files' names without their folders."""
        return tuple(Path(path).name for path in self.paths)

    @property
    def chunks(self) -> int:
        """How many chunks there are, the last one of fewer lines."""
        return -(-self.lines // self.lines_a_chunk)

    def chunks_of(self, shard: int, shards: int) -> range:
        """Return the chunks of one of so many shards, which are neighbours."""
        return range(self.chunks * shard // shards, self.chunks * (shard + 1) // shards)


def survey(paths: Sequence[Path], lines_a_chunk: int = LINES_A_CHUNK) -> CorpusFiles:
    """Read all files once, a line at a time.

    Raises DataError where one cannot be read, none has a line, or two have the same lines, which would count twice.
    """
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
    return CorpusFiles(tuple(map(str, paths)), tuple(digests), lines, lines_a_chunk)


@dataclass(frozen=True)
class Chunk:
    """What is in some neighbouring lines: pairs, and how many lines were skipped, by reason."""

    pairs: tuple[Pair, ...]
    skipped: Counter[str]


class ChunkReader:
    """Reads chunks by number: in rising order in one pass over the corpus; for an earlier one it starts anew."""

    def __init__(self, files: CorpusFiles):
        self._files = files
        self._next = 0
        self._lines: Iterator[bytes] = self._open()

    def read(self, chunk: int) -> Chunk:
        """Return a chunk; raises DataError where the corpus has changed and ends before it."""
        if chunk < self._next:
            self._lines, self._next = self._open(), 0
        lines = list(islice(self._lines, (chunk - self._next) * self._files.lines_a_chunk, self._end(chunk)))
        self._next = chunk + 1
        if not lines:
            raise DataError(f"The corpus {', '.join(self._files.names)} has fewer lines than when it was surveyed.")
        pairs, skipped = [], Counter[str]()
        for line in lines:
            try:
                pairs.append(parse_pair(line))
            except NoPairError as reason:
                skipped[str(reason)] += 1
        return Chunk(tuple(pairs), skipped)

    def _end(self, chunk: int) -> int:
        return (chunk + 1 - self._next) * self._files.lines_a_chunk

    def _open(self) -> Iterator[bytes]:
        return chain.from_iterable(read_lines(Path(path)) for path in self._files.paths)


@dataclass(frozen=True)
class Batch:
    """Sentence pairs as ids, and the source texts of the same."""

    examples: Examples
    texts: Sequence[str]


def batches_of(
    chunk: Chunk, reader: TextReader, max_length: int, languages: tuple[str | None, str | None] = (None, None)
) -> tuple[list[Batch], Counter[str]]:
    """Return a chunk's batches, sentences of like length together, and what was skipped, by reason.

    languages: of target and source, of a model that has several, see `TextReader.addressed`.
    """
    addressed = [(reader.addressed(source, *languages), target) for source, target in chunk.pairs]
    found, skipped = [], chunk.skipped.copy()
    encoded = encode_pairs(addressed, reader.tokenizer, max_length)
    for (text, _), (example, reason) in zip(addressed, encoded, strict=True):
        if reason:
            skipped[reason] += 1
        else:
            found.append((example, text))
    return batches_by_length(found), skipped


def batches_by_length(found: Iterable[tuple[Example, str]]) -> list[Batch]:
    """Return batches of examples and their source texts, those of like length together."""
    ordered = sorted(found, key=lambda each: (each[0].length, len(each[0].source)))  # stable: else in their own order
    texts = iter([text for _, text in ordered])
    filled = fill_batches([example for example, _ in ordered], TOKENS_A_BATCH)
    return [Batch(examples, list(islice(texts, len(examples)))) for examples in filled]
