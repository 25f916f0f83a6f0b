"""Two traces held against each other: two sentences, two checkpoints, or before and after an intervention."""

from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import product

import numpy as np

from ...arrays import read_only
from ...errors import InterventionError
from ...model.names import AttentionKind, Name
from ..trace import Trace

Matches = tuple[tuple[int, int], ...]  # positions in the first and the second trace


class MatchedBy(Name):
    """How a token of one trace found its partner in the other."""

    POSITION = "position"
    TOKEN = "token"


@dataclass(frozen=True, eq=False)
class MapDifference:
    """The second trace's maps of a kind minus the first's, where both have rows and columns to compare.

    values: [layers, heads, rows, columns], read-only; rows, columns: the positions in both traces that each stands for.
    rows_by, columns_by: "position" where both sides have as many tokens, else "token", the tokens that stand in both in
    the same order; what has no partner is left out.
    """

    kind: AttentionKind
    values: np.ndarray
    rows: Matches
    columns: Matches
    rows_by: MatchedBy
    columns_by: MatchedBy

    def distances(self) -> np.ndarray:
        """How much each head differs: half the sum of a row's absolute differences, the mean over rows; from 0 to 1.

        The total variation distance, where every column has its partner: [layers, heads].
        """
        return np.abs(self.values).sum(axis=-1).mean(axis=-1) / 2

    def ranked(self) -> list[tuple[int, int, float]]:
        """Layer, head and distance of every head, the one that differs most first."""
        distances = self.distances()
        found = [(layer, head, float(distances[layer, head])) for layer, head in product(*map(range, distances.shape))]
        return sorted(found, key=lambda each: -each[2])


def subtract(first: Trace, second: Trace, kind: AttentionKind | str) -> MapDifference:
    """The difference of the maps of a kind.

    Raises InterventionError where layers or heads are not as many, or no token of one side stands in both.
    """
    kind = AttentionKind(kind)
    one, other = first.attention(kind), second.attention(kind)
    if one.shape[:2] != other.shape[:2]:
        shapes = " and ".join(f"{layers} layers of {heads} heads" for layers, heads in (one.shape[:2], other.shape[:2]))
        raise InterventionError(f"The models have {shapes} of {kind} attention, so no head has a partner.")
    source, fed = (
        _matches(getattr(first, side), getattr(second, side)) for side in ("source_tokens", "decoder_input_tokens")
    )
    rows, rows_by = source if kind == AttentionKind.ENCODER else fed
    columns, columns_by = fed if kind == AttentionKind.DECODER else source
    if not rows or not columns:
        raise InterventionError("The sentences have no token in common, so no row or column has a partner.")
    parts = (
        maps[:, :, [[row[at]] for row in rows], [column[at] for column in columns]]
        for at, maps in ((0, one), (1, other))
    )
    before, after = parts
    return MapDifference(kind, read_only(after - before), rows, columns, rows_by, columns_by)


def _matches(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[Matches, MatchedBy]:
    """Which positions belong together, in order."""
    if len(first) == len(second):
        return tuple((at, at) for at in range(len(first))), MatchedBy.POSITION
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return tuple((block.a + at, block.b + at) for block in blocks for at in range(block.size)), MatchedBy.TOKEN
