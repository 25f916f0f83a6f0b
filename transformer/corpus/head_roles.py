"""Roles of heads by an atlas: the number of sentences with each label, and of rows that follow each pattern.

A label in one sentence is no role: few heads do the same in most sentences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..data.frames import Columns, cell_columns, frame_of
from ..interpret.head_patterns import HeadMeasures, Pattern, measure_heads, most_confident_head
from ..interpret.trace import Trace, keys_of, masked_maps
from ..model.heads import Head
from ..model.names import AttentionKind
from ..model.transformer import Transformer
from .atlas.atlas import NEVER, Atlas, Role, find_atlas

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class HeadRoles:
    """Counts over so many `sentences`; each dict by kind, layers and heads from 0.

    labelled: sentences in which a head has a label; rows and eligible: rows that follow a pattern, and that could, over
    all sentences. Arrays are int, [layers, heads, patterns], patterns in the order of `Pattern`.
    """

    sentences: int
    labelled: dict[AttentionKind, np.ndarray]
    rows: dict[AttentionKind, np.ndarray]
    eligible: dict[AttentionKind, np.ndarray]

    def share(self, kind: AttentionKind | str, layer: int, head: int, pattern: Pattern | str) -> float:
        """Return the share of the sentences in which a head has this label, from 0 to 1."""
        return float(self.labelled[AttentionKind(kind)][layer, head, _INDEX[Pattern(pattern)]] / self.sentences)

    def to_frame(self) -> "pandas.DataFrame":
        """List the counts: kind, layer and head from 0, pattern, labelled (of how many sentences), the share of these
        with its standard error, rows, eligible.
        """
        tables: dict[str, Columns] = {}
        for kind, labelled in self.labelled.items():
            share = labelled / self.sentences
            tables[kind] = cell_columns(
                ("layer", "head", "pattern"),
                labelled=labelled,
                sentences=np.full_like(labelled, self.sentences),
                share=share,
                standard_error=np.sqrt(share * (1 - share) / self.sentences),
                rows=self.rows[kind],
                eligible=self.eligible[kind],
            )
        return frame_of("kind", tables, {"pattern": tuple(Pattern)})

    def default_head(self, kind: AttentionKind | str, measured: Sequence[HeadMeasures] = ()) -> Head:
        """Return the head of a kind with the plainest pattern.

        Of cross-attention the best aligner, whose largest weight is most often on the source token that its output
        translates; of self-attention the best positional head (Voita et al. 2019, 5.1), to the token before or after.
        `measured` decides for one sentence; ties, or no sentence, leave the decision to the corpus.
        """
        kind = AttentionKind(kind)
        positional = (Pattern.PREVIOUS, Pattern.NEXT)
        patterns = (Pattern.OUTPUT_ALIGNMENT,) if kind == AttentionKind.CROSS else positional
        columns = [_INDEX[pattern] for pattern in patterns]
        rows, eligible = (table[kind][:, :, columns] for table in (self.rows, self.eligible))
        corpus = (rows / np.maximum(eligible, 1)).max(axis=-1)
        here = np.zeros_like(corpus)
        for one in measured:
            here[one.layer, one.head] = max(np.nan_to_num([one.shares[pattern] for pattern in patterns]))
        best = np.where(here == here.max(), corpus, -1.0)
        row, column = np.unravel_index(best.argmax(), best.shape)
        return Head(kind, int(row), int(column))


def plainest_head(trace: Trace, kind: AttentionKind | str, roles: HeadRoles | None = None) -> Head:
    """Return the head of a kind with the plainest pattern in a translation.

    See `HeadRoles.default_head`; without `roles` the most confident head.
    """
    keys, maps = keys_of(trace, kind), masked_maps(trace, kind)
    if roles is None:
        return Head(AttentionKind(kind), *most_confident_head(maps, keys))
    return roles.default_head(kind, measure_heads(kind, maps, keys, trace.target_tokens))


_INDEX = {pattern: index for index, pattern in enumerate(Pattern)}


def sparse_tables(roles: HeadRoles) -> dict[str, dict[AttentionKind, list[list[dict[str, int]]]]]:
    """Return the counts that are not 0, ready for JSON: labelled, rows and eligible by kind, layer, head, pattern."""
    tables = (("labelled", roles.labelled), ("rows", roles.rows), ("eligible", roles.eligible))
    return {name: {kind: _sparse(table[kind]) for kind in AttentionKind} for name, table in tables}


def roles_of(atlas: Atlas) -> HeadRoles:
    """Return the counts of an atlas for the patterns of every head."""
    counts = {
        kind: np.array(
            [[[_counts(entry.roles.get(each, NEVER)) for each in Pattern] for entry in layer] for layer in layers],
            dtype=np.int64,
        )
        for kind, layers in atlas.heads.items()
    }
    labelled, rows, eligible = ({kind: each[..., at] for kind, each in counts.items()} for at in range(3))
    return HeadRoles(atlas.sentences_measured, labelled, rows, eligible)


def find_roles(folder: Path, model: Transformer) -> HeadRoles | None:
    """Return the roles in a checkpoint's atlas, None without one; raises CheckpointError for an unreadable file."""
    atlas = find_atlas(folder, model)
    return roles_of(atlas) if atlas else None


def _counts(role: Role) -> tuple[int, int, int]:
    return role.labelled, role.rows, role.eligible


def _sparse(table: np.ndarray) -> list[list[dict[str, int]]]:
    cells = _INDEX.items()
    return [[{pattern: int(head[index]) for pattern, index in cells if head[index]} for head in row] for row in table]
