"""What is measured over a corpus: a pure function of a batch whose statistics merge, in whole numbers; and of what.

Sums of whole numbers are the same in any order, so any split of a corpus, whoever computes which part, gives the same.
"""

import gzip
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from ..errors import DataError
from .batching import Example, Examples
from .chunks import LINES_A_CHUNK, Batch, batches_by_length
from .tokenizer import TextTokenizer

if TYPE_CHECKING:
    from ..model.transformer import Transformer

UNIT = 2.0**-20  # of what is no whole number by nature: it is rounded to so many, and these are added up


class Statistics(Protocol):
    """What was measured of some sentences. Equal statistics are equal bytes."""

    @property
    def sentences(self) -> int: ...

    @property
    def skipped(self) -> Counter[str]:
        """Lines that were left out, by reason."""

    def merge(self, other: Self) -> Self:
        """Return the statistics of both parts together: associative, commutative."""

    def to_bytes(self) -> bytes: ...


S = TypeVar("S", bound=Statistics)


class Measurement(ABC, Generic[S]):
    """What is to be measured, sent to each worker: small, and all that the result depends on besides model and corpus.

    name: tells it from others; lines_a_chunk: of which batches are made, see `chunks`; chunks_a_shard: how many a stop
    costs, where nothing else is asked for.
    """

    name: ClassVar[str]
    lines_a_chunk: ClassVar[int] = LINES_A_CHUNK
    chunks_a_shard: ClassVar[int] = 8

    @abstractmethod
    def open(self, model: "Transformer", tokenizer: TextTokenizer) -> Callable[[Batch], S]:
        """Return the function of a batch."""

    @abstractmethod
    def nothing(self, model: "Transformer", skipped: Counter[str]) -> S:
        """Return the statistics of no sentence, and of these lines that were skipped."""

    @abstractmethod
    def read(self, content: bytes) -> S:
        """Read what `to_bytes` wrote; raises ValueError, OSError, EOFError, KeyError or TypeError for anything else."""

    def identity(self) -> dict[str, Any]:
        """Return what another measurement of this name may have otherwise, ready for JSON."""
        return {}


Part = int | np.ndarray | Counter[int]


@dataclass(frozen=True, eq=False)
class Sums:
    """Statistics that are but added up: numbers, arrays of them, and how often there is which number, each by a name.

    All are whole; arrays are int64, or Python's numbers where sums may be larger.
    """

    sentences: int = 0
    parts: Mapping[str, Any] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)

    def merge(self, other: "Sums") -> "Sums":
        """Return the sums of both parts; those of no sentence have none."""
        parts = {**self.parts, **other.parts}
        for name in self.parts.keys() & other.parts.keys():
            parts[name] = self.parts[name] + other.parts[name]
        return Sums(self.sentences + other.sentences, parts, self.skipped + other.skipped)

    def to_bytes(self) -> bytes:
        """Return them as packed JSON."""
        parts = {name: _plain(self.parts[name]) for name in sorted(self.parts)}
        content = {"sentences": self.sentences, "parts": parts, "skipped": dict(sorted(self.skipped.items()))}
        return gzip.compress(json.dumps(content, separators=(",", ":")).encode(), compresslevel=3, mtime=0)

    @classmethod
    def from_bytes(cls, content: bytes) -> "Sums":
        """Read what `to_bytes` wrote; raises as `Measurement.read`."""
        read = json.loads(gzip.decompress(content))
        parts = {name: _part(each) for name, each in read["parts"].items()}
        return cls(read["sentences"], parts, Counter(read["skipped"]))


def _plain(part: Part) -> object:
    if isinstance(part, Counter):
        return {"counts": sorted(part.items())}
    return {"array": part.tolist(), "large": part.dtype == object} if isinstance(part, np.ndarray) else part


def _part(read: Any) -> Part:
    if isinstance(read, int):
        return read
    if "counts" in read:
        return Counter(dict(read["counts"]))
    return np.array(read["array"], dtype=object if read["large"] else np.int64)


class SumsMeasurement(Measurement[Sums]):
    """A measurement whose statistics are sums."""

    def nothing(self, model: "Transformer", skipped: Counter[str]) -> Sums:
        return Sums(skipped=skipped)

    def read(self, content: bytes) -> Sums:
        return Sums.from_bytes(content)


def add_up(
    measure: Callable[[Batch], Sums],
    sentences: Iterable[tuple[Example, str]],
    progress: Callable[[int], None] | None = None,
) -> Sums:
    """Return the sums over sentences that are all at hand, with their texts; `progress` is told how many are done."""
    counted = Sums()
    for batch in batches_by_length(sentences):
        counted = counted.merge(measure(batch))
        if progress:
            progress(counted.sentences)
    return counted


def without_texts(examples: Examples) -> list[tuple[Example, str]]:
    """Return examples for a measurement that reads no texts; raises ValueError without any."""
    if not examples:
        raise ValueError("at least one sentence pair expected")
    return [(example, "") for example in examples]


@dataclass(frozen=True)
class Provenance:
    """What a measurement is of: names of the corpus's files, SHA-256 of their contents and of the weights, the
    program's version, lines that were read, and lines that were skipped by reason.
    """

    pairs: tuple[str, ...]
    digests: tuple[str, ...]
    weights: str
    program: str
    lines: int
    skipped: Mapping[str, int]

    @classmethod
    def read(cls, told: dict[str, Any], **more: Any) -> Self:
        """Read what `asdict` made of it; raises ValueError, TypeError or KeyError for anything else."""
        pairs, digests = (tuple(map(short_text, told[name])) for name in ("pairs", "digests"))
        if len(pairs) != len(digests):
            raise ValueError(f"{len(pairs)} files with {len(digests)} digests")
        return cls(
            pairs=pairs,
            digests=digests,
            weights=short_text(told["weights"]),
            program=short_text(told["program"]),
            lines=whole_number(told["lines"]),
            skipped={short_text(reason): whole_number(count) for reason, count in told["skipped"].items()},
            **more,
        )

    def content(self) -> dict[str, object]:
        """Return it ready for JSON."""
        return asdict(self)


def check_poolable(parts: Sequence[Provenance]) -> None:
    """Raise DataError for parts of other weights or programs, or where two have the same pairs."""
    for name, words in (("weights", "of the same weights"), ("program", "measured by one version")):
        if len({getattr(each, name) for each in parts}) > 1:
            raise DataError(f"These cannot be pooled: they are not all {words}.")
    digests = [digest for each in parts for digest in each.digests]
    names = [name for each in parts for name in each.pairs]
    if twice := next((name for name, digest in zip(names, digests, strict=True) if digests.count(digest) > 1), None):
        raise DataError(f"These cannot be pooled: the pairs of {twice} would count twice.")


def pooled(told: Sequence[Provenance | None]) -> Provenance:
    """Return what several parts of a corpus together are of; raises as `check_poolable`, and where one is not known."""
    parts = [each for each in told if each is not None]
    if len(parts) < len(told):
        raise DataError("These cannot be pooled: one does not say what it was measured with. Measure it anew.")
    check_poolable(parts)
    return Provenance(
        pairs=tuple(name for each in parts for name in each.pairs),
        digests=tuple(digest for each in parts for digest in each.digests),
        weights=parts[0].weights,
        program=parts[0].program,
        lines=sum(each.lines for each in parts),
        skipped=dict(sorted(sum((Counter(each.skipped) for each in parts), Counter()).items())),
    )


def whole_number(value: object, least: int = 0) -> int:
    """Return a count that a file has; raises ValueError for what cannot be one."""
    if type(value) is not int or not least <= value < 2**53:
        raise ValueError(f"a count of {value}")
    return value


def number(value: object, least: float, most: float) -> float:
    """Return a number that a file has; raises ValueError for what is none, or not from `least` to `most`."""
    if type(value) not in (int, float) or not least <= value <= most:  # type: ignore[operator]
        raise ValueError(f"a number {value!r:.50} not from {least} to {most}")
    return float(value)  # type: ignore[arg-type]


def short_text(value: object) -> str:
    """Return a text that a file has; raises ValueError for what is none, or too long."""
    if not isinstance(value, str) or len(value) > 1000:
        raise ValueError(f"no short text: {value!r:.50}")
    return value
