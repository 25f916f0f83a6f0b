"""Atlas of a checkpoint's heads as the app reads it: one file, `atlas.json`, with measures, roles and examples.

docs/atlas.md describes its form. Shares and means have standard errors over the sentences; layers and heads count from
0; tokens are texts as the tokenizer shows them.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data.frames import Columns, frame_of
from ...files import reading_json, write_atomically
from ...interpret.head_patterns import Pattern
from ...interpret.trace import Labels, row_and_column_labels
from ...model.names import AttentionKind
from ...model.transformer import Transformer
from ...untrusted import MEGABYTE, number, short_text, whole_number
from ..provenance import Provenance

if TYPE_CHECKING:
    import pandas

ATLAS_FILE = "atlas.json"
MOST_BYTES = 3 * MEGABYTE // 2
VERSION = 1
FIFTHS = 5
LEAST_WEIGHT = 0.005  # of a line of a drawn example
BINS = 20  # of both histograms

Mean = tuple[float, float]  # a mean over sentences and its standard error


@dataclass(frozen=True)
class Sentence:
    """A sentence of the corpus: tokens of the source, of the decoder's input, and of its predictions."""

    source: tuple[str, ...]
    fed: tuple[str, ...]
    target: tuple[str, ...]

    def labels(self, kind: AttentionKind) -> tuple[Labels, Labels | None, Labels]:
        """Return the read and the predicted tokens of a kind's rows (None for the encoder), and its columns."""
        return row_and_column_labels(kind, self.source, self.fed, self.target)


@dataclass(frozen=True)
class Example:
    """A head's map in one sentence, in part.

    sentence: its index in `Atlas.sentences`; fifth: 0, of the least confident, to 4; strongest: True for one of
    the most confident of all; confidence: the mean over rows of the greatest weight on another key than the end of
    sentence. cells: row * columns + column, rising; weights: of these, from 0 to 1; the others were below 0.005 or
    below the row's eighth.
    """

    sentence: int
    fifth: int
    strongest: bool
    confidence: float
    cells: tuple[int, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Role:
    """Counts of a pattern of a head: sentences with the label; rows that follow it, of the eligible ones."""

    labelled: int
    rows: int
    eligible: int

    def share(self, sentences: int) -> Mean:
        """Return the share of so many sentences in which a head has the label, and its standard error."""
        share = self.labelled / sentences
        return share, math.sqrt(share * (1 - share) / sentences)


NEVER = Role(0, 0, 0)


@dataclass(frozen=True)
class Join:
    """Tokens that a head joins: the `rows` of the sample in which the greatest weight of this query's row lies on this
    key, and the sum of these weights. A list by query alone has no key, one by key no query.
    """

    query: str | None
    key: str | None
    rows: int
    weight: float


@dataclass(frozen=True)
class Neighbour:
    """Another head of the kind, and the cosine between the weights of both, over all cells of all sentences."""

    layer: int
    head: int
    cosine: float


@dataclass(frozen=True)
class HeadEntry:
    """Measures, roles and examples of a head over the corpus.

    measures: by name (see `statistics.MEASURES`), means over the sentences in which some row has a choice; entropy in
    nats, distance in tokens, positive to the right, of cross-attention from the diagonal; the rest shares. roles: by
    pattern, those that are not 0. greatest, confidence: histograms of 20 bins from 0 to 1 over the sentences. borders:
    confidence at the end of each fifth but the last. importance: nats of log P that a token loses without the head, and
    alignment_error_rate: against a gold alignment; None where neither was measured.
    """

    kind: AttentionKind
    layer: int
    head: int
    measures: Mapping[str, Mean]
    roles: Mapping[Pattern, Role]
    greatest: tuple[int, ...]
    confidence: tuple[int, ...]
    borders: tuple[float, ...]
    examples: tuple[Example, ...]
    queries: tuple[Join, ...]
    keys: tuple[Join, ...]
    pairs: tuple[Join, ...]
    nearest: tuple[Neighbour, ...]
    importance: Mean | None = None
    alignment_error_rate: float | None = None

    def share(self, pattern: Pattern | str, sentences: int) -> Mean:
        """Return the share of the sentences in which the head has a label, and its standard error."""
        return self.roles.get(Pattern(pattern), NEVER).share(sentences)

    def label(self, sentences: int) -> tuple[Pattern, float] | None:
        """Return the head's most frequent label and its share of the sentences; None where it has none."""
        labelled = [(role.labelled, pattern) for pattern, role in self.roles.items() if role.labelled]
        if not labelled:
            return None
        count = max(count for count, _ in labelled)
        return next(pattern for pattern_count, pattern in labelled if pattern_count == count), count / sentences


@dataclass(frozen=True)
class AtlasProvenance(Provenance):
    """Origin of an atlas, with seed and size of the sample."""

    seed: int
    sample: int


@dataclass(frozen=True, eq=False)
class Atlas:
    """The heads of a model, layer by layer, by kind, over so many `sentences_measured` with `tokens` a side."""

    provenance: AtlasProvenance
    sentences_measured: int
    tokens: tuple[int, int]
    sentences: tuple[Sentence, ...]
    heads: Mapping[AttentionKind, tuple[tuple[HeadEntry, ...], ...]]

    def head(self, kind: AttentionKind | str, layer: int, head: int) -> HeadEntry:
        """Return a head's entry, layer and head from 0."""
        return self.heads[AttentionKind(kind)][layer][head]

    def entries(self) -> list[HeadEntry]:
        """Return all heads, kind by kind and layer by layer."""
        return [entry for layers in self.heads.values() for layer in layers for entry in layer]

    def to_frame(self) -> "pandas.DataFrame":
        """List the heads: kind, layer, head from 0, each measure with its standard error, the share of each label, and
        importance and alignment_error_rate, NaN where they were not measured.
        """
        tables: dict[str, Columns] = {}
        for kind, layers in self.heads.items():
            entries = [entry for layer in layers for entry in layer]
            columns: dict[str, list[float]] = {
                "layer": [each.layer for each in entries],
                "head": [each.head for each in entries],
            }
            for name in entries[0].measures:
                columns[name] = [each.measures[name][0] for each in entries]
                columns[f"{name}_error"] = [each.measures[name][1] for each in entries]
            for pattern in Pattern:
                shares = [each.share(pattern, self.sentences_measured) for each in entries]
                columns[str(pattern)] = [share for share, _ in shares]
                columns[f"{pattern}_error"] = [error for _, error in shares]
            columns["importance"] = [each.importance[0] if each.importance else math.nan for each in entries]
            columns["alignment_error_rate"] = [
                math.nan if each.alignment_error_rate is None else each.alignment_error_rate for each in entries
            ]
            tables[kind] = {name: np.array(values) for name, values in columns.items()}
        return frame_of("kind", tables)


def save_atlas(path: Path, atlas: Atlas) -> None:
    """Write an atlas as JSON of at most 1.5 MB: where all examples do not fit, fewer of each head; raises OSError.

    Raises ValueError where it would not fit without any.
    """
    for per_fifth in (3, 2, 1, 0):
        content = to_json(with_fewer_examples(atlas, per_fifth))
        if len(content) <= MOST_BYTES:
            return write_atomically(path, content)
    raise ValueError(f"an atlas of {len(atlas.entries())} heads is too large for one file")


def to_json(atlas: Atlas) -> bytes:
    """Return the file's content."""
    content = {
        "version": VERSION,
        "provenance": atlas.provenance.content(),
        "sentences_measured": atlas.sentences_measured,
        "tokens": atlas.tokens,
        "sentences": [[each.source, each.fed[0], each.target] for each in atlas.sentences],
        "heads": {
            kind: [[_head_content(entry) for entry in layer] for layer in layers]
            for kind, layers in atlas.heads.items()
        },
    }
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()


def with_fewer_examples(atlas: Atlas, per_fifth: int) -> Atlas:
    """Return the atlas with so many examples a fifth at most, and twice as many strongest; unused sentences leave."""

    def fewer(entry: HeadEntry) -> HeadEntry:
        counts: dict[tuple[bool, int], int] = {}
        remaining = []
        for each in entry.examples:
            sort = each.strongest, 0 if each.strongest else each.fifth
            counts[sort] = counts.get(sort, 0) + 1
            if counts[sort] <= (2 * per_fifth if each.strongest else per_fifth):
                remaining.append(each)
        return replace(entry, examples=tuple(remaining))

    heads = {kind: tuple(tuple(map(fewer, layer)) for layer in layers) for kind, layers in atlas.heads.items()}
    used = sorted({each.sentence for entry in replace(atlas, heads=heads).entries() for each in entry.examples})
    index = {old: new for new, old in enumerate(used)}

    def renumbered(entry: HeadEntry) -> HeadEntry:
        return replace(entry, examples=tuple(replace(each, sentence=index[each.sentence]) for each in entry.examples))

    heads = {kind: tuple(tuple(map(renumbered, layer)) for layer in layers) for kind, layers in heads.items()}
    return replace(atlas, heads=heads, sentences=tuple(atlas.sentences[old] for old in used))


def load_atlas(path: Path, model: Transformer) -> Atlas:
    """Read a file of `save_atlas` for a model of this shape; raises CheckpointError for anything else."""
    with reading_json(path, VERSION, MOST_BYTES) as content:
        read = _Reader(content)
        heads = {}
        for kind in AttentionKind:
            layers, shape = content["heads"][kind], (len(getattr(model, kind.stack)), model.config.num_heads)
            if len(layers) != shape[0] or any(len(layer) != shape[1] for layer in layers):
                raise ValueError(f"its heads are not those of the {kind}")
            heads[kind] = tuple(
                tuple(read.head(kind, number, at, head, shape) for at, head in enumerate(layer))
                for number, layer in enumerate(layers)
            )
        return Atlas(read.provenance(), read.measured, read.tokens, read.sentences, heads)


def find_atlas(folder: Path, model: Transformer) -> Atlas | None:
    """Return the atlas in a checkpoint's folder, None where there is none; raises as `load_atlas`."""
    path = folder / ATLAS_FILE
    return load_atlas(path, model) if path.is_file() else None


def _head_content(entry: HeadEntry) -> dict[str, object]:
    examples = [
        [each.sentence, each.fifth, int(each.strongest), each.confidence, each.cells, _thousandths(each.weights)]
        for each in entry.examples
    ]
    return {
        "measures": entry.measures,
        "roles": {pattern: [role.labelled, role.rows, role.eligible] for pattern, role in entry.roles.items()},
        "greatest": entry.greatest,
        "confidence": entry.confidence,
        "borders": entry.borders,
        "examples": examples,
        "queries": [[each.query, each.rows, each.weight] for each in entry.queries],
        "keys": [[each.key, each.rows, each.weight] for each in entry.keys],
        "pairs": [[each.query, each.key, each.rows, each.weight] for each in entry.pairs],
        "nearest": [[each.layer, each.head, each.cosine] for each in entry.nearest],
        "importance": entry.importance,
        "alignment_error_rate": entry.alignment_error_rate,
    }


def _thousandths(weights: tuple[float, ...]) -> list[int]:
    return [round(1000 * weight) for weight in weights]


class _Reader:
    """Reader of an atlas: raises ValueError, TypeError or KeyError for impossible content."""

    def __init__(self, content: dict[str, Any]):
        self._content = content
        self.measured = whole_number(content["sentences_measured"], least=1)
        source, target = map(whole_number, content["tokens"])
        self.tokens = source, target
        self.sentences = tuple(self._sentence(*each) for each in content["sentences"])

    def provenance(self) -> AtlasProvenance:
        """Return the origin of the atlas."""
        origin = self._content["provenance"]
        return AtlasProvenance.read(origin, seed=whole_number(origin["seed"]), sample=whole_number(origin["sample"]))

    def head(
        self, kind: AttentionKind, layer: int, head: int, entry: dict[str, Any], shape: tuple[int, int]
    ) -> HeadEntry:
        """Return one head."""
        roles = {Pattern(pattern): Role(*map(whole_number, counts)) for pattern, counts in entry["roles"].items()}
        if any(role.rows > role.eligible or role.labelled > self.measured for role in roles.values()):
            raise ValueError("counts that cannot be")
        histograms = [tuple(map(whole_number, entry[name])) for name in ("greatest", "confidence")]
        if any(len(each) != BINS or sum(each) > self.measured for each in histograms):
            raise ValueError("a histogram that cannot be")
        borders = tuple(number(each, 0, 1) for each in entry["borders"])
        if len(borders) != FIFTHS - 1 or list(borders) != sorted(borders):
            raise ValueError("borders that cannot be")
        nearest = tuple(
            Neighbour(whole_number(a), whole_number(b), number(c, 0, 1.001)) for a, b, c in entry["nearest"]
        )
        if any(each.layer >= shape[0] or each.head >= shape[1] for each in nearest):
            raise ValueError("a head that is not there")
        rate = entry["alignment_error_rate"]
        return HeadEntry(
            kind=kind,
            layer=layer,
            head=head,
            measures={short_text(name): _mean(value) for name, value in entry["measures"].items()},
            roles=roles,
            greatest=histograms[0],
            confidence=histograms[1],
            borders=borders,
            examples=tuple(self._example(kind, *each) for each in entry["examples"]),
            queries=tuple(Join(short_text(text), None, *_sums(*sums)) for text, *sums in entry["queries"]),
            keys=tuple(Join(None, short_text(text), *_sums(*sums)) for text, *sums in entry["keys"]),
            pairs=tuple(
                Join(short_text(query), short_text(key), *_sums(*sums)) for query, key, *sums in entry["pairs"]
            ),
            nearest=nearest,
            importance=None if entry["importance"] is None else _mean(entry["importance"]),
            alignment_error_rate=None if rate is None else number(rate, 0, 1),
        )

    @staticmethod
    def _sentence(source: list[str], begin: str, target: list[str]) -> Sentence:
        tokens = tuple(map(short_text, target))
        if not source or not tokens:
            raise ValueError("a sentence without tokens")
        return Sentence(tuple(map(short_text, source)), (short_text(begin), *tokens[:-1]), tokens)

    def _example(
        self,
        kind: AttentionKind,
        sentence: int,
        fifth: int,
        strongest: int,
        confidence: float,
        cells: list[Any],
        thousandths: list[Any],
    ) -> Example:
        if whole_number(sentence) >= len(self.sentences) or whole_number(fifth) >= FIFTHS or strongest not in (0, 1):
            raise ValueError("an example that cannot be")
        rows, _, columns = self.sentences[sentence].labels(kind)
        at = tuple(map(whole_number, cells))
        if (
            len(at) != len(thousandths)
            or any(cell >= len(rows) * len(columns) for cell in at)
            or len(set(at)) != len(at)
        ):
            raise ValueError("cells that are not there")
        weights = tuple(number(weight, 0, 1000) / 1000 for weight in thousandths)
        return Example(sentence, fifth, bool(strongest), number(confidence, 0, 1), at, weights)


def _mean(value: Any) -> Mean:
    mean, error = value
    return number(mean, -1e6, 1e6), number(error, 0, 1e6)


def _sums(rows: object, weight: object) -> tuple[int, float]:
    return whole_number(rows), number(weight, 0, 2.0**53)
