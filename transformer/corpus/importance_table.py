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

from ..data.frames import cell_columns, frame_of
from ..errors import DataError
from ..files import write_atomically
from ..interpret.what_if.importance import ABLATIONS, ImportanceSums
from ..model.heads import Head
from ..model.names import AttentionKind
from .provenance import Provenance, pooled
from .stored import encode, reading_stored

if TYPE_CHECKING:
    import pandas

_MOST = 1e30  # of a sum: so that no product of several is too large for a float
_NUMBERS = ("loss_in_nats_a_token", "standard_error", "standard_deviation", "sum", "sum_of_squares")
_COLUMNS = ("kind", "layer", "head", *_NUMBERS, "tokens", "sentences", "intervention")


@dataclass(frozen=True, eq=False)
class ImportanceTable:
    """Sums over a corpus, the name of the ablation, and the origin of both."""

    sums: ImportanceSums
    ablation: str
    provenance: Provenance

    def __post_init__(self) -> None:
        sums = self.sums
        if self.ablation not in ABLATIONS or min(sums.tokens, sums.squared_tokens, sums.sentences) < 1:
            raise ValueError("its ablation or its counts cannot be")
        _check_whole(sums.heads)
        if sums.sums.shape != (len(sums.heads) + 1, 4) or abs(sums.sums).max() > _MOST:
            raise ValueError("its sums are not four per head")
        loss, squares, of_sentences = sums.sums[:, :3].T
        if min(squares.min(), of_sentences.min()) < 0 or (squares * sums.tokens < loss**2 * (1 - 1e-9)).any():
            raise ValueError("its sums cannot be")

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
        write_atomically(_beside(path), encode(self))
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
        with reading_stored(_beside(path), cls) as table:
            return table


def pool_importance(tables: Sequence[ImportanceTable]) -> ImportanceTable:
    """Return the table of several parts of a corpus together.

    Raises DataError where they are of other weights or ablations, or where two are of the same pairs.
    """
    provenance = pooled([each.provenance for each in tables])
    if len({each.ablation for each in tables}) > 1:
        raise DataError("These cannot be pooled: they are not all of the same ablation.")
    return ImportanceTable(reduce(add, (each.sums for each in tables)), tables[0].ablation, provenance)


def _check_whole(heads: Sequence[Head]) -> None:
    """Raise ValueError where these are not all heads of each kind, in the order of `every_head`."""
    for kind in AttentionKind:
        places = [head.index for head in heads if head.kind == kind]
        layers, count = np.add(places[-1] if places else (0, -1), 1)
        if not count or places != list(np.ndindex(layers, count)):
            raise ValueError(f"its heads are not all of the {kind}")


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")
