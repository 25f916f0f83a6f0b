"""Importance of heads over a corpus as files: a CSV to read, and beside it a JSON file with the sums for pooling."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import read_only
from ..data.frames import cell_columns, frame_of
from ..errors import DataError
from ..files import reading_json, save_json, write_atomically
from ..interpret.what_if.importance import ABLATIONS, ImportanceSums
from ..model.head_ref import HeadRef
from ..model.names import AttentionKind
from ..untrusted import number, whole_number
from .provenance import Provenance, pooled

if TYPE_CHECKING:
    import pandas

_VERSION = 3
_MOST = 1e30  # of a sum: so that no product of several is too large for a float
_NUMBERS = ("loss_in_nats_a_token", "standard_error", "standard_deviation", "sum", "sum_of_squares")
_COLUMNS = ("kind", "layer", "head", *_NUMBERS, "tokens", "sentences", "intervention")


@dataclass(frozen=True, eq=False)
class ImportanceTable:
    """Sums over a corpus, the name of the ablation, and the origin of both."""

    sums: ImportanceSums
    ablation: str
    provenance: Provenance

    def to_frame(self) -> "pandas.DataFrame":
        """List the heads: kind, layer and head from 0, the mean loss of a token's log P in nats, its standard error and
        standard deviation, the sums over the tokens of the loss and of its square, the numbers of tokens and sentences.
        """
        counts = {name: np.full(len(self.sums.sums), getattr(self.sums, name)) for name in ("tokens", "sentences")}
        columns = {name: self.sums.by_kind(values) for name, values in (self._numbers() | counts).items()}
        axes = ("layer", "head")
        tables = {kind: {name: values[kind] for name, values in columns.items()} for kind in AttentionKind}
        return frame_of("kind", {str(kind): cell_columns(axes, **table) for kind, table in tables.items()})

    def save(self, path: Path) -> None:
        """Write the table as CSV, the most important head first, and all of it as JSON beside it; raises OSError.

        Layers and heads count from 1 in the CSV, as on the pages; `intervention`, and the JSON, count from 0.
        """
        sums, numbers = self.sums, self._numbers()
        rows = sums.sums.tolist()
        content = {
            "provenance": self.provenance.content(),
            "ablation": self.ablation,
            "tokens": sums.tokens,
            "squared_tokens": sums.squared_tokens,
            "sentences": sums.sentences,
            "heads": [[head.kind, head.layer, head.head, *row] for head, row in zip(sums.heads, rows, strict=False)],
            "log_probability": rows[-1],
        }
        save_json(_beside(path), _VERSION, content)
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(_COLUMNS)
        for at in np.argsort(-sums.means[:-1], kind="stable"):
            head = sums.heads[at]
            digits = [f"{numbers[name][at]:.6f}" for name in _NUMBERS]
            counts = sums.tokens, sums.sentences, str(ABLATIONS[self.ablation].of(head))
            table.writerow([head.kind, head.layer + 1, head.head + 1, *digits, *counts])
        write_atomically(path, text.getvalue().encode())

    def _numbers(self) -> dict[str, np.ndarray]:
        sums = self.sums
        columns = sums.means, sums.standard_errors, sums.deviations, *sums.sums.T[:2]
        return dict(zip(_NUMBERS, columns, strict=True))

    @classmethod
    def load(cls, path: Path) -> "ImportanceTable":
        """Read the JSON file of `save` beside this table; raises CheckpointError for anything else."""
        with reading_json(_beside(path), _VERSION) as content:
            rows = content["heads"]
            heads = tuple(HeadRef(kind, whole_number(layer), whole_number(head)) for kind, layer, head, *_ in rows)
            listed = [*(row[3:] for row in rows), content["log_probability"]]
            array = np.array([[number(each, -_MOST, _MOST) for each in row] for row in listed])
            _check_whole(heads)
            counts = [whole_number(content[name], least=1) for name in ("tokens", "squared_tokens", "sentences")]
            if array.shape[1:] != (4,) or (array[:, 1:3] < 0).any() or content["ablation"] not in ABLATIONS:
                raise ValueError("its sums cannot be")
            sums = ImportanceSums(heads, read_only(array), *counts)
            if (array[:, 1] * counts[0] < array[:, 0] ** 2 * (1 - 1e-9)).any():
                raise ValueError("its sums cannot be")
            return cls(sums, content["ablation"], Provenance.read(content["provenance"]))


def pool_importance(tables: Sequence[ImportanceTable]) -> ImportanceTable:
    """Return the table of several parts of a corpus together.

    Raises DataError where they are of other weights or ablations, or where two are of the same pairs.
    """
    provenance = pooled([each.provenance for each in tables])
    if len({each.ablation for each in tables}) > 1:
        raise DataError("These cannot be pooled: they are not all of the same ablation.")
    return ImportanceTable(reduce(add, (each.sums for each in tables)), tables[0].ablation, provenance)


def _check_whole(heads: Sequence[HeadRef]) -> None:
    """Raise ValueError or IndexError where these are not all heads of each kind, in the order of `every_head`."""
    for kind in AttentionKind:
        places = [(head.layer or 0, head.head or 0) for head in heads if head.kind == kind]
        layers, count = places[-1][0] + 1, places[-1][1] + 1
        if len(places) != layers * count or places != list(np.ndindex(layers, count)):
            raise ValueError(f"its heads are not all of the {kind}")


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")
