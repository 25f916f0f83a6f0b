"""Difference of two traces: of two sentences, two checkpoints, or before and after an intervention."""

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import read_only
from ...data.frames import cell_columns, frame_of
from ...errors import InterventionError
from ...model.names import AttentionKind
from ..trace import Trace

if TYPE_CHECKING:
    import pandas

Matches = tuple[tuple[int, int], ...]  # positions in the first and the second trace


@dataclass(frozen=True, eq=False)
class MapDifference:
    """The second trace's maps of a kind minus the first's, where both have rows and columns to compare.

    values: [layers, heads, rows, columns], read-only; rows, columns: the positions in both traces that each stands for.
    Tokens are matched by position where both sides have as many, else by their texts in order; a token without a
    partner is left out.
    """

    kind: AttentionKind
    values: np.ndarray
    rows: Matches
    columns: Matches

    def to_frame(self) -> "pandas.DataFrame":
        """List the differences: kind, layer, head, query and key as positions in the first trace and, as other_query
        and other_key, in the second, value; all count from 0.
        """
        columns = cell_columns(("layer", "head", "query", "key"), value=self.values)
        rows, keys = (np.array(each)[columns[name]] for each, name in ((self.rows, "query"), (self.columns, "key")))
        columns |= {"query": rows[:, 0], "key": keys[:, 0], "other_query": rows[:, 1], "other_key": keys[:, 1]}
        return frame_of("kind", {self.kind: columns})

    def distances(self) -> np.ndarray:
        """Return how much each head differs: half the sum of a row's absolute differences, the mean over rows; 0 to 1.

        The total variation distance, where every column has its partner: [layers, heads].
        """
        return np.asarray(np.abs(self.values).sum(axis=-1).mean(axis=-1) / 2)

    def ranked(self) -> list[tuple[int, int, float]]:
        """Return layer, head and distance of every head, the one that differs most first."""
        distances = ((layer, head, float(value)) for (layer, head), value in np.ndenumerate(self.distances()))
        return sorted(distances, key=lambda each: -each[2])


def subtract(first: Trace, second: Trace, kind: AttentionKind | str) -> MapDifference:
    """Subtract the maps of a kind; raises InterventionError for other layers or heads, or no token in common."""
    kind = AttentionKind(kind)
    one, other = first.attention(kind), second.attention(kind)
    if one.shape[:2] != other.shape[:2]:
        shapes = " and ".join("{} layers of {} heads".format(*maps.shape) for maps in (one, other))
        raise InterventionError(f"The models have {shapes} of {kind} attention, so no head has a partner.")
    source = _matches(first.source_tokens, second.source_tokens)
    fed = _matches(first.decoder_input_tokens, second.decoder_input_tokens)
    rows = source if kind == AttentionKind.ENCODER else fed
    columns = fed if kind == AttentionKind.DECODER else source
    if not rows or not columns:
        raise InterventionError("The sentences have no token in common, so no row or column has a partner.")
    before, after = (
        maps[:, :, [[row[side]] for row in rows], [column[side] for column in columns]]
        for side, maps in enumerate((one, other))
    )
    return MapDifference(kind, read_only(after - before), rows, columns)


def _matches(first: tuple[str, ...], second: tuple[str, ...]) -> Matches:
    """Match the positions that belong together, in order."""
    if len(first) == len(second):
        return tuple((index, index) for index in range(len(first)))
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return tuple((block.a + step, block.b + step) for block in blocks for step in range(block.size))
