"""Aligners: maps of a model that align words, and the counts of their links over a gold set."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from ...data.frames import cell_columns
from ...model.names import Name
from ...model.transformer import Transformer
from .links import COUNTS, Reading

if TYPE_CHECKING:
    import pandas

MARKS = (True, False)  # with punctuation marks, and without


class Method(Name):
    """Origin of a map of target and source tokens."""

    HEAD = "head"
    LAYER = "layer mean"  # over the heads of a layer
    ALL = "mean of all heads"
    NORMS = "norm-weighted"  # of all heads of a layer (Kobayashi et al. 2020); their mean over layers
    ALTI = "ALTI+"  # up to a layer (Ferrando et al. 2022)


class Aligner(Struct, frozen=True, array_like=True):
    """Method with its layer and head, from 0; None for all of them."""

    method: Method
    layer: int | None = None
    head: int | None = None

    def __str__(self) -> str:
        """Name it with numbers from 1, as on the pages: "layer 3, head 5", "ALTI+ up to layer 3"."""
        if self.layer is None:
            return f"{self.method}, mean over layers" if self.method == Method.NORMS else str(self.method)
        layer = f"layer {self.layer + 1}"
        if self.head is not None:
            return f"{layer}, head {self.head + 1}"
        before = {Method.LAYER: "mean of", Method.NORMS: "norm-weighted,", Method.ALTI: "ALTI+ up to"}
        return f"{before[self.method]} {layer}"


def aligners(layers: int, heads: int) -> tuple[Aligner, ...]:
    """List the aligners of a model with so many decoder layers and heads, in the order of `alignment_maps`."""
    each = range(layers)
    return (
        *(Aligner(Method.HEAD, layer, head) for layer in each for head in range(heads)),
        *(Aligner(Method.LAYER, layer) for layer in each),
        Aligner(Method.ALL),
        *(Aligner(Method.NORMS, layer) for layer in each),
        Aligner(Method.NORMS),
        *(Aligner(Method.ALTI, layer) for layer in each),
    )


def aligners_of(model: Transformer) -> tuple[Aligner, ...]:
    """List the aligners of a model."""
    return aligners(len(model.decoder), model.config.num_heads)


@dataclass(frozen=True, eq=False)
class AlignmentCounts:
    """Counts of each sentence of a gold set, [sentences, aligners, readings, marks, `COUNTS`], int.

    readings in the order of `Reading`, marks with punctuation first and then without; `lines`: of each sentence.
    """

    gold: str
    aligners: tuple[Aligner, ...]
    lines: tuple[int, ...]
    counts: np.ndarray

    def to_frame(self) -> "pandas.DataFrame":
        """List the `COUNTS` of each sentence: line from 1, method, layer and head from 0, reading, punctuation."""
        import pandas  # not needed to translate

        columns = cell_columns(
            ("line", "aligner", "reading", "punctuation"),
            **{name: self.counts[..., index] for index, name in enumerate(COUNTS)},
        )
        columns["line"] = np.array(self.lines)[columns["line"]]
        return name_columns(pandas.DataFrame(columns), self.aligners)


def name_columns(frame: "pandas.DataFrame", named: Sequence[Aligner]) -> "pandas.DataFrame":
    """Put names in the place of the indices of aligners, readings and marks."""
    which = [named[index] for index in frame.pop("aligner")]
    at = int(frame.columns.get_loc("reading"))
    for offset, field in enumerate(("method", "layer", "head")):
        values = [getattr(each, field) for each in which]
        frame.insert(at + offset, field, list(map(str, values)) if field == "method" else values)
    for field in ("layer", "head"):
        frame[field] = frame[field].astype("Int64")
    frame["reading"] = [str(list(Reading)[index]) for index in frame["reading"]]
    frame["punctuation"] = [MARKS[index] for index in frame["punctuation"]]
    return frame
