"""What each head does over a corpus: how often it has which label, and in how many rows it follows which pattern.

A label of one sentence is no role: few heads do the same in most sentences. The measure is that of `head_patterns`,
over teacher-forced passes in batches, as the atlas counts it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.batching import Examples
from ..data.chunks import Batch
from ..data.frames import Columns, cell_columns, frame_of
from ..data.measurement import Provenance, Sums, SumsMeasurement, add_up, pooled, whole_number, without_texts
from ..data.tokenizer import TextTokenizer
from ..files import reading_json, save_json
from ..model.names import AttentionKind
from ..model.transformer import Transformer
from .atlas.batch import Vocabulary, layout_of, record_batch
from .atlas.role_counts import count_roles
from .head_patterns import HeadMeasures, Pattern, measure_heads, most_confident_head
from .trace import Trace, keys_of, masked_maps

if TYPE_CHECKING:
    import pandas

ROLES_FILE = "heads.json"
_VERSION = 1


@dataclass(frozen=True, eq=False)
class HeadRoles:
    """What was counted over so many `sentences`, those of `pairs`; each dict by kind, layers and heads from 0.

    labelled: sentences in which a head has a label; rows and eligible: rows that follow a pattern, and that could, over
    all sentences. Arrays are int, [layers, heads, patterns], patterns in the order of `Pattern`.
    """

    pairs: str
    sentences: int
    labelled: dict[AttentionKind, np.ndarray]
    rows: dict[AttentionKind, np.ndarray]
    eligible: dict[AttentionKind, np.ndarray]
    provenance: Provenance | None = None  # None of what was not measured from files, or by an older version

    def share(self, kind: AttentionKind | str, layer: int, head: int, pattern: Pattern | str) -> float:
        """Return in what share of the sentences a head has this label, from 0 to 1."""
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
        """Return the head of a kind, layer and head from 0, whose pattern one sees at a glance.

        Of cross-attention the best aligner, whose largest weight is most often on the source token that its output
        translates, of self-attention the best positional head (Voita et al. 2019, 5.1), to the token before or after.
        It is the best in the sentence that was `measured`, over the corpus where several are, or no sentence is given.
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
    """Return the head of a kind, layer and head from 0, whose pattern is plainest in a translation.

    See `HeadRoles.default_head`; without `roles` it is the most confident one.
    """
    keys, maps = keys_of(trace, kind), masked_maps(trace, kind)
    if roles is None:
        return most_confident_head(maps, keys)
    return roles.default_head(kind, measure_heads(kind, maps, keys, trace.target_tokens))


_INDEX = {pattern: index for index, pattern in enumerate(Pattern)}


@dataclass(frozen=True)
class RolesMeasurement(SumsMeasurement):
    """The counts of every head: by kind [heads of all its layers, 3, patterns], labelled sentences, rows, eligible."""

    name = "heads"

    def open(self, model: Transformer, tokenizer: TextTokenizer) -> Callable[[Batch], Sums]:
        """Return the function of a batch."""
        vocabulary = Vocabulary.of(tokenizer)

        def counted(batch: Batch) -> Sums:
            recorded, parts = record_batch(model, batch.examples), {}
            for kind, weights in recorded.weights.items():
                layout = layout_of(kind, recorded, vocabulary)
                parts[str(kind)] = count_roles(kind, weights, layout, several=weights.shape[1] > 1).sum(axis=0)
            return Sums(len(batch.examples), parts)

        return counted


def roles_from(sums: Sums, heads: int, pairs: str, provenance: Provenance | None = None) -> HeadRoles:
    """Return what was counted of a model with so many `heads` a layer."""
    counts = {kind: sums.parts[kind].reshape(-1, heads, 3, len(Pattern)) for kind in AttentionKind}
    labelled, rows, eligible = ({kind: each[:, :, table] for kind, each in counts.items()} for table in range(3))
    return HeadRoles(pairs, sums.sentences, labelled, rows, eligible, provenance)


def measure_roles(model: Transformer, tokenizer: TextTokenizer, examples: Examples, pairs: str) -> HeadRoles:
    """Measure all heads over sentence pairs, teacher-forced. Raises ValueError without any."""
    sums = add_up(RolesMeasurement().open(model, tokenizer), without_texts(examples))
    return roles_from(sums, model.config.num_heads, pairs)


def save_roles(path: Path, roles: HeadRoles) -> None:
    """Write the counts as JSON, those that are not 0; raises OSError."""
    told = {"provenance": roles.provenance.content()} if roles.provenance else {}
    save_json(path, _VERSION, {"pairs": roles.pairs, **told, "sentences": roles.sentences, **sparse_tables(roles)})


def pool(parts: Sequence[HeadRoles]) -> HeadRoles:
    """Return the counts over several parts of a corpus together; raises DataError where they cannot be pooled."""
    told = pooled([each.provenance for each in parts])
    names = ("labelled", "rows", "eligible")
    labelled, rows, eligible = (
        {kind: sum(getattr(each, name)[kind] for each in parts) for kind in AttentionKind} for name in names
    )
    return HeadRoles(", ".join(told.pairs), sum(each.sentences for each in parts), labelled, rows, eligible, told)


def sparse_tables(roles: HeadRoles) -> dict[str, dict[AttentionKind, list[list[dict[str, int]]]]]:
    """Return the counts that are not 0, ready for JSON: labelled, rows and eligible by kind, layer, head, pattern."""
    tables = (("labelled", roles.labelled), ("rows", roles.rows), ("eligible", roles.eligible))
    return {name: {kind: _sparse(table[kind]) for kind in AttentionKind} for name, table in tables}


def load_roles(path: Path, model: Transformer | None = None) -> HeadRoles:
    """Read what `save_roles` wrote, for a model of this shape; raises CheckpointError for anything else."""
    with reading_json(path, _VERSION) as content:
        sentences = whole_number(content["sentences"], least=1)
        tables = [_tables(content[name], model) for name in ("labelled", "rows", "eligible")]
        if any((tables[0][kind] > sentences).any() or (tables[1][kind] > tables[2][kind]).any() for kind in tables[0]):
            raise ValueError("counts that cannot be")
        told = content.get("provenance")
        return HeadRoles(
            str(content["pairs"]), sentences, tables[0], tables[1], tables[2], told and Provenance.read(told)
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
