"""The training pairs of a run: one corpus or several, each with its weight in an epoch."""

import dataclasses
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..config import build, check_types, require
from ..errors import ConfigError
from ..untrusted import read_toml
from .batching import Example, fitting
from .pairs import TextPairs, read_pairs
from .tokenizer import Tokenizer

LEAST_WEIGHT, MOST_WEIGHT = 0.001, 1000
_COLUMNS = 3  # source, target and, in a corpus of several origins, the name of the line's


@dataclass(frozen=True)
class CorpusFile:
    """A file of sentence pairs, and its weight: how often an epoch sees each of them, 0.5 every other time."""

    file: str
    weight: float = 1.0

    def __post_init__(self):
        check_types(self)
        weighed = LEAST_WEIGHT <= self.weight <= MOST_WEIGHT
        bounds = f"between {LEAST_WEIGHT} and {MOST_WEIGHT:,}"
        require(weighed, f"weight of {self.file} must be a positive number, {bounds}, not {self.weight}.")


def named_files(config: Path) -> tuple[list[CorpusFile], Path | None]:
    """Return the files of pairs to train on and to validate with that a CONFIG.toml names; none where it does not.

    `train` in [data] is the name of one file or a list of tables such as {file = "a.tsv.gz", weight = 2}, `valid` a
    name; names are relative to the folder of `config`, which `load_experiment` has accepted. Raises ConfigError.
    """
    data = read_toml(config)["data"]
    train, valid = data.get("train", []), data.get("valid", "")
    entries = [{"file": train}] if isinstance(train, str) else train
    tables = isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)
    require(tables, '`train` in [data] must be a file or a list such as [{file = "a.tsv.gz", weight = 2}].')
    require(isinstance(valid, str), f"`valid` in [data] must be a file, not {valid!r}.")
    files = [build(CorpusFile, entry, "data.train") for entry in entries]
    folder = Path(config).parent
    files = [dataclasses.replace(each, file=str(folder / each.file)) for each in files]
    return files, folder / valid if valid else None


@dataclass(frozen=True)
class WeightedPairs:
    """Sentence pairs, how often an epoch sees each of them, and the name of their file."""

    pairs: TextPairs
    weight: float = 1.0
    name: str = ""


class Mixture:
    """The pairs of several corpora, each with its weight; iterating gives every pair once."""

    def __init__(self, parts: Sequence[WeightedPairs]):
        if not parts:
            raise ConfigError("There is no corpus to train on.")
        self.parts = tuple(parts)

    @classmethod
    def read(cls, files: Sequence[CorpusFile]) -> "Mixture":
        """Read the files, whose lines may have an origin as third column; raises DataError for what cannot be read."""
        return cls([WeightedPairs(read_pairs(Path(each.file), _COLUMNS), each.weight, each.file) for each in files])

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for part in self.parts:
            yield from part.pairs


class MixedExamples:
    """A mixture as ids: `all` examples, each once, and those of an epoch; raises DataError when of a part none fits.

    With `segmentation_dropout` the sources of an epoch are cut into pieces anew, at random.
    """

    def __init__(self, mixture: Mixture, tokenizer: Tokenizer, max_length: int, segmentation_dropout: float = 0.0):
        self._mixture, self._tokenizer, self._max_length = mixture, tokenizer, max_length
        self._dropout = segmentation_dropout
        fitted = [fitting(part.pairs, tokenizer, max_length) for part in mixture.parts]
        self._sources = [[source for source, _ in pairs] for pairs, _ in fitted]
        self._parts = [examples for _, examples in fitted]
        if len(self._parts) > 1:
            names = [(Path(part.name).name,) for part in mixture.parts]
            self._parts = [_named(examples, name) for examples, name in zip(self._parts, names, strict=True)]
        self.all = [example for examples in self._parts for example in examples]

    def of_epoch(self, epoch: int, seed: int) -> list[Example]:
        """Return the examples of this epoch, from 0, in the order of their files; of weight 1 each once."""
        epoch_examples: list[Example] = []
        for number, (part, examples) in enumerate(zip(self._mixture.parts, self._parts, strict=True)):
            taken = turns(len(examples), part.weight, epoch, f"{seed} {number}")
            chosen = [examples[index] for index in taken]
            if self._dropout:
                chosen = self._cut_anew(number, taken, chosen, (seed * 1009 + epoch) * 1009 + number)
            epoch_examples += chosen
        return epoch_examples

    def _cut_anew(self, part: int, taken: list[int], examples: list[Example], seed: int) -> list[Example]:
        """Return the examples with their sources in other pieces, but for those that would grow too long."""
        texts = [self._sources[part][index] for index in taken]
        sampled = self._tokenizer.sample_all(texts, self._dropout, seed % 2**32)
        return [
            dataclasses.replace(example, source=(*ids, self._tokenizer.end_id))
            if len(ids) < self._max_length
            else example
            for example, ids in zip(examples, sampled, strict=True)
        ]

    def describe(self) -> list[dict]:
        """For training.json: of each file its name, its weight and its pairs."""
        both = zip(self._mixture.parts, self._parts, strict=True)
        return [
            {"file": Path(part.name).name, "weight": part.weight, "pairs": len(examples)} for part, examples in both
        ]


def turns(count: int, weight: float, epoch: int, seed: str) -> list[int]:
    """Return the indices of an epoch among `count` examples, in order and repeated.

    Examples take turns in an order that is shuffled once, `weight` rounds per epoch: at the end of any epoch each has
    been used as often as any other, or once more.
    """
    first, end = round(epoch * weight * count), round((epoch + 1) * weight * count)
    order = list(range(count))
    random.Random(seed).shuffle(order)
    return sorted(order[turn % count] for turn in range(first, end))


def _named(examples: list[Example], name: tuple[str]) -> list[Example]:
    return [dataclasses.replace(example, files=name * len(example.lines)) for example in examples]
