"""What each head alone is worth over a corpus, as files: a table to read, and beside it all that pooling needs."""

import csv
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np

from ...data.batching import Examples
from ...errors import DataError
from ...files import reading_json, save_json, write_atomically
from .importance import ABLATIONS, ImportanceSums
from .intervention import Heads

_VERSION = 1
_COLUMNS = ("kind", "layer", "head", "loss_in_nats_a_token", "standard_deviation", "sum", "sum_of_squares")
_COUNTS = ("tokens", "sentences", "intervention")


@dataclass(frozen=True)
class MeasuredPairs:
    """The sentence pairs of a measurement: the corpus's name, SHA-256 of their token ids, and how many there are."""

    name: str
    digest: str
    sentences: int

    @classmethod
    def of(cls, name: str, examples: Examples) -> "MeasuredPairs":
        """Describe examples, those that were measured."""
        ids = repr([(each.source, each.target) for each in examples])
        return cls(name, hashlib.sha256(ids.encode()).hexdigest(), len(examples))


@dataclass(frozen=True, eq=False)
class ImportanceTable:
    """A corpus's sums with what they are of: SHA-256 of the checkpoint's weights, the ablation's name, the pairs."""

    sums: ImportanceSums
    weights: str
    ablation: str
    pairs: tuple[MeasuredPairs, ...]

    def save(self, path: Path) -> None:
        """Write the table as CSV, the most important head first, and all of it as JSON beside it; raises OSError.

        Layers and heads count from 1 in the CSV, as on the pages; `intervention`, and the JSON, count from 0.
        """
        sums = self.sums
        content = {
            "weights": self.weights,
            "ablation": self.ablation,
            "pairs": [vars(each) for each in self.pairs],
            "tokens": sums.tokens,
            "sentences": sums.sentences,
            "heads": [
                [head.kind, head.layer, head.head, *row]
                for head, row in zip(sums.heads, sums.sums.tolist(), strict=False)
            ],
            "log_probability": sums.sums[-1].tolist(),
        }
        save_json(_beside(path), _VERSION, content)
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow([*_COLUMNS, *_COUNTS])
        for at in np.argsort(-sums.means[:-1], kind="stable"):
            head = sums.heads[at]
            numbers = sums.means[at], sums.deviations[at], *sums.sums[at]
            digits = [f"{numbers[0]:.6f}", f"{numbers[1]:.6f}", *(repr(float(each)) for each in numbers[2:])]
            counts = sums.tokens, sums.sentences, f"{self.ablation}:{head}"
            rows.writerow([head.kind, head.layer + 1, head.head + 1, *digits, *counts])
        write_atomically(path, text.getvalue().encode())

    @classmethod
    def load(cls, path: Path) -> "ImportanceTable":
        """Read what `save` wrote beside this table; raises CheckpointError for anything else."""
        with reading_json(_beside(path), _VERSION) as content:
            rows = content["heads"]
            if not all(type(number) is int and number >= 0 for row in rows for number in row[1:3]):
                raise ValueError("its heads cannot be")
            heads = tuple(Heads(kind, layer, head) for kind, layer, head, *_ in rows)
            sums = np.array([*(row[3:] for row in rows), content["log_probability"]], dtype=np.float64)
            counts = content["tokens"], content["sentences"]
            pairs = tuple(MeasuredPairs(**each) for each in content["pairs"])
            if not pairs or sums.shape != (len(heads) + 1, 2) or not np.isfinite(sums).all() or (sums[:, 1] < 0).any():
                raise ValueError("its numbers cannot be")
            if not all(type(each) is int and each > 0 for each in counts) or content["ablation"] not in ABLATIONS:
                raise ValueError("its counts cannot be")
            return cls(ImportanceSums(heads, sums, *counts), str(content["weights"]), content["ablation"], pairs)


def pool(tables: Sequence[ImportanceTable]) -> ImportanceTable:
    """Return the table of several parts of a corpus together.

    Raises DataError where they are of other weights or ablations, or where two are of the same pairs.
    """
    first = tables[0]
    for name in ("weights", "ablation"):
        if len({getattr(each, name) for each in tables}) > 1:
            raise DataError(f"These tables cannot be pooled: they are not all of the same {name}.")
    pairs = tuple(each for table in tables for each in table.pairs)
    digests = [each.digest for each in pairs]
    if twice := next((each for each in pairs if digests.count(each.digest) > 1), None):
        raise DataError(f"These tables cannot be pooled: the pairs of {twice.name} would count twice.")
    return ImportanceTable(reduce(add, (each.sums for each in tables)), first.weights, first.ablation, pairs)


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")
