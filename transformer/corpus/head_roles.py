"""Roles of heads over a corpus: the number of sentences with each label, and of rows that follow each pattern.

A label in one sentence is no role: few heads do the same in most sentences. Patterns and thresholds are those of
`head_patterns`, counted over teacher-forced passes in batches, as in the atlas.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.batching import Examples
from ..data.frames import Columns, cell_columns, frame_of
from ..data.sums import add_up
from ..data.tokenizer import TextTokenizer
from ..files import reading_json, save_json
from ..interpret.head_patterns import HeadMeasures, Pattern, measure_heads, most_confident_head
from ..interpret.trace import Trace, keys_of, masked_maps
from ..model.names import AttentionKind
from ..model.transformer import Transformer
from ..untrusted import whole_number
from .atlas.batch import Vocabulary, layout_of, record_batch
from .atlas.role_counts import count_roles
from .provenance import Provenance, pooled

if TYPE_CHECKING:
    import pandas

ROLES_FILE = "heads.json"
_VERSION = 1


@dataclass(frozen=True, eq=False)
class HeadRoles:
    """Counts over the `sentences` of the files named in `pairs`; each dict by kind, layers and heads from 0.

    labelled: sentences in which a head has a label; rows and eligible: rows that follow a pattern, and that could, over
    all sentences. Arrays are int, [layers, heads, patterns], patterns in the order of `Pattern`. provenance: None for
    sentences that were not read from files.
    """

    pairs: str
    sentences: int
    labelled: dict[AttentionKind, np.ndarray]
    rows: dict[AttentionKind, np.ndarray]
    eligible: dict[AttentionKind, np.ndarray]
    provenance: Provenance | None = None

    def __add__(self, other: "HeadRoles") -> "HeadRoles":
        """Add the counts over other sentences; pairs and provenance are those of `self`."""
        return replace(
            self,
            sentences=self.sentences + other.sentences,
            labelled={kind: each + other.labelled[kind] for kind, each in self.labelled.items()},
            rows={kind: each + other.rows[kind] for kind, each in self.rows.items()},
            eligible={kind: each + other.eligible[kind] for kind, each in self.eligible.items()},
        )

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

    def default_head(self, kind: AttentionKind | str, measured: Sequence[HeadMeasures] = ()) -> tuple[int, int]:
        """Return the head of a kind with the plainest pattern: layer and head from 0.

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
        return int(row), int(column)


def plainest_head(trace: Trace, kind: AttentionKind | str, roles: HeadRoles | None = None) -> tuple[int, int]:
    """Return the head of a kind with the plainest pattern in a translation: layer and head from 0.

    See `HeadRoles.default_head`; without `roles` the most confident head.
    """
    keys, maps = keys_of(trace, kind), masked_maps(trace, kind)
    if roles is None:
        return most_confident_head(maps, keys)
    return roles.default_head(kind, measure_heads(kind, maps, keys, trace.target_tokens))


_INDEX = {pattern: index for index, pattern in enumerate(Pattern)}


def count_head_roles(model: Transformer, tokenizer: TextTokenizer, examples: Examples) -> HeadRoles:
    """Count the roles of all heads over a batch of sentence pairs, teacher-forced."""
    recorded, vocabulary = record_batch(model, examples), Vocabulary.of(tokenizer)
    labelled, rows, eligible = {}, {}, {}
    for kind, weights in recorded.weights.items():
        layout = layout_of(kind, recorded, vocabulary)
        counts = count_roles(kind, weights, layout, several=weights.shape[1] > 1).sum(axis=0)
        tables = counts.reshape(-1, model.config.num_heads, *counts.shape[1:])  # layers heads 3 patterns
        labelled[kind], rows[kind], eligible[kind] = np.moveaxis(tables, 2, 0)
    return HeadRoles("", len(examples), labelled, rows, eligible)


def measure_roles(model: Transformer, tokenizer: TextTokenizer, examples: Examples, pairs: str) -> HeadRoles:
    """Count the roles of all heads over sentence pairs, teacher-forced. Raises ValueError without pairs."""
    return replace(add_up(partial(count_head_roles, model, tokenizer), examples), pairs=pairs)


def save_roles(path: Path, roles: HeadRoles) -> None:
    """Write the counts as JSON, those that are not 0; raises OSError."""
    origin = {"provenance": roles.provenance.content()} if roles.provenance else {}
    save_json(path, _VERSION, {"pairs": roles.pairs, **origin, "sentences": roles.sentences, **sparse_tables(roles)})


def pool_roles(parts: Sequence[HeadRoles]) -> HeadRoles:
    """Return the counts over several parts of a corpus together; raises DataError where they cannot be pooled."""
    provenance = pooled([each.provenance for each in parts])
    return replace(reduce(add, parts), pairs=", ".join(provenance.pairs), provenance=provenance)


def sparse_tables(roles: HeadRoles) -> dict[str, dict[AttentionKind, list[list[dict[str, int]]]]]:
    """Return the counts that are not 0, ready for JSON: labelled, rows and eligible by kind, layer, head, pattern."""
    tables = (("labelled", roles.labelled), ("rows", roles.rows), ("eligible", roles.eligible))
    return {name: {kind: _sparse(table[kind]) for kind in AttentionKind} for name, table in tables}


def load_roles(path: Path, model: Transformer | None = None) -> HeadRoles:
    """Read a file of `save_roles` for a model of this shape; raises CheckpointError for anything else."""
    with reading_json(path, _VERSION) as content:
        sentences = whole_number(content["sentences"], least=1)
        tables = [_tables(content[name], model) for name in ("labelled", "rows", "eligible")]
        if any((tables[0][kind] > sentences).any() or (tables[1][kind] > tables[2][kind]).any() for kind in tables[0]):
            raise ValueError("counts that cannot be")
        origin = content.get("provenance")
        return HeadRoles(
            str(content["pairs"]), sentences, tables[0], tables[1], tables[2], origin and Provenance.read(origin)
        )


def _sparse(table: np.ndarray) -> list[list[dict[str, int]]]:
    cells = _INDEX.items()
    return [[{pattern: int(head[index]) for pattern, index in cells if head[index]} for head in row] for row in table]


def _tables(content: dict[str, Any], model: Transformer | None) -> dict[AttentionKind, np.ndarray]:
    tables = {}
    for kind in AttentionKind:
        layers = content[kind]
        shape = (len(getattr(model, kind.stack)), model.config.num_heads) if model else (len(layers), len(layers[0]))
        if len(layers) != shape[0] or any(len(layer) != shape[1] for layer in layers):
            raise ValueError(f"its heads are not those of the {kind}")
        tables[kind] = np.zeros((*shape, len(Pattern)), dtype=np.int64)
        for layer, head in np.ndindex(shape):
            for pattern, count in layers[layer][head].items():
                tables[kind][layer, head, _INDEX[Pattern(pattern)]] = whole_number(count)
    return tables
