"""Atlas of a checkpoint's heads as the app reads it: one file, `atlas.json`, with measures, roles and examples.

docs/atlas.md describes its form. Shares and means have standard errors over the sentences; layers and heads count from
0; tokens are texts as the tokenizer shows them.
"""

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from msgspec import Meta, Struct, structs

from ...data.frames import Columns, frame_of
from ...files import write_atomically
from ...interpret.head_patterns import Pattern
from ...interpret.trace import Labels, row_and_column_labels
from ...model.heads import Head
from ...model.names import AttentionKind
from ...model.transformer import Transformer
from ...untrusted import MEGABYTE
from ..provenance import Provenance
from ..stored import Count, Positive, Share, ShortText, encode, reading_stored

if TYPE_CHECKING:
    import pandas

logger = logging.getLogger(__name__)

ATLAS_FILE = "atlas.json"
MOST_BYTES = 3 * MEGABYTE // 2
FIFTHS = 5
LEAST_WEIGHT = 0.005  # of a line of a drawn example
BINS = 20  # of both histograms

# A mean over sentences and its standard error.
Mean = tuple[Annotated[float, Meta(ge=-1e6, le=1e6)], Annotated[float, Meta(ge=0, le=1e6)]]
Histogram = Annotated[tuple[Count, ...], Meta(min_length=BINS, max_length=BINS)]


class Sentence(Struct, frozen=True, array_like=True):
    """A sentence of the corpus: tokens of the source, the first of the decoder's input, and its predictions."""

    source: Annotated[tuple[ShortText, ...], Meta(min_length=1)]
    begin: ShortText
    target: Annotated[tuple[ShortText, ...], Meta(min_length=1)]

    @property
    def fed(self) -> tuple[str, ...]:
        """Tokens of the decoder's input."""
        return self.begin, *self.target[:-1]

    def labels(self, kind: AttentionKind) -> tuple[Labels, Labels | None, Labels]:
        """Return the read and the predicted tokens of a kind's rows (None for the encoder), and its columns."""
        return row_and_column_labels(kind, self.source, self.fed, self.target)


class Example(Struct, frozen=True, array_like=True):
    """A head's map in one sentence, in part.

    sentence: its index in `Atlas.sentences`; fifth: 0, of the least confident, to 4; strongest: True for one of
    the most confident of all; confidence: the mean over rows of the greatest weight on another key than the end of
    sentence. cells: row * columns + column, rising; thousandths: their weights; the others were below 0.005 or
    below the row's eighth.
    """

    sentence: Count
    fifth: Annotated[int, Meta(ge=0, lt=FIFTHS)]
    strongest: bool
    confidence: Share
    cells: tuple[Count, ...]
    thousandths: tuple[Annotated[int, Meta(ge=0, le=1000)], ...]

    def __post_init__(self) -> None:
        if not len(self.cells) == len(set(self.cells)) == len(self.thousandths):
            raise ValueError("one weight per cell expected")

    @property
    def weights(self) -> tuple[float, ...]:
        """Weights of the cells, from 0 to 1."""
        return tuple(each / 1000 for each in self.thousandths)


class Role(Struct, frozen=True, array_like=True):
    """Counts of a pattern of a head: sentences with the label; rows that follow it, of the eligible ones."""

    labelled: Count
    rows: Count
    eligible: Count

    def __post_init__(self) -> None:
        if self.rows > self.eligible:
            raise ValueError(f"{self.rows} rows of {self.eligible} eligible ones")

    def share(self, sentences: int) -> Mean:
        """Return the share of so many sentences in which a head has the label, and its standard error."""
        share = self.labelled / sentences
        return share, math.sqrt(share * (1 - share) / sentences)


NEVER = Role(0, 0, 0)


class Join(Struct, frozen=True, array_like=True):
    """Tokens that a head joins: the `rows` of the sample in which the greatest weight of this query's row lies on this
    key, and the sum of these weights. A list by query alone has no key, one by key no query.
    """

    query: ShortText | None
    key: ShortText | None
    rows: Count
    weight: Annotated[float, Meta(ge=0, le=2**53)]


class Neighbour(Struct, frozen=True, array_like=True):
    """Another head of the kind, and the cosine between the weights of both, over all cells of all sentences."""

    layer: Count
    head: Count
    cosine: Annotated[float, Meta(ge=0, le=1.001)]


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
    layer: Count
    head: Count
    measures: Mapping[ShortText, Mean]
    roles: Mapping[Pattern, Role]
    greatest: Histogram
    confidence: Histogram
    borders: Annotated[tuple[Share, ...], Meta(min_length=FIFTHS - 1, max_length=FIFTHS - 1)]
    examples: tuple[Example, ...]
    queries: tuple[Join, ...]
    keys: tuple[Join, ...]
    pairs: tuple[Join, ...]
    nearest: tuple[Neighbour, ...]
    importance: Mean | None = None
    alignment_error_rate: Share | None = None

    def __post_init__(self) -> None:
        if list(self.borders) != sorted(self.borders):
            raise ValueError("its borders do not rise")

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

    seed: Count
    sample: Count


@dataclass(frozen=True, eq=False)
class Atlas:
    """The heads of a model, layer by layer, by kind, over so many `sentences_measured` with `tokens` a side."""

    provenance: AtlasProvenance
    sentences_measured: Positive
    tokens: tuple[Count, Count]
    sentences: tuple[Sentence, ...]
    heads: Mapping[AttentionKind, tuple[tuple[HeadEntry, ...], ...]]

    def __post_init__(self) -> None:
        for kind, layers in self.heads.items():
            sizes = [len(rows) * len(columns) for rows, _, columns in (each.labels(kind) for each in self.sentences)]
            for at, entries in enumerate(layers):
                for number, entry in enumerate(entries):
                    name = Head(kind, at, number).address
                    if (entry.kind, entry.layer, entry.head) != (kind, at, number):
                        raise ValueError(f"another head stands in place of {name}")
                    if message := self._fault(entry, sizes):
                        raise ValueError(f"{name}: {message}")

    def _fault(self, entry: HeadEntry, sizes: list[int]) -> str:
        """Name what cannot be in an entry by the rest of the atlas. sizes: cells of each sentence's map."""
        counts = [*(role.labelled for role in entry.roles.values()), sum(entry.greatest), sum(entry.confidence)]
        if max(counts) > self.sentences_measured:
            return "it counts more sentences than were measured"
        for each in entry.examples:
            if each.sentence >= len(sizes) or max(each.cells, default=0) >= sizes[each.sentence]:
                return "an example names a sentence or a cell that is not there"
        layers = self.heads[entry.kind]
        if any(each.layer >= len(layers) or each.head >= len(layers[each.layer]) for each in entry.nearest):
            return "it is near a head that is not there"
        return ""

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
        content = encode(with_fewer_examples(atlas, per_fifth))
        if len(content) <= MOST_BYTES:
            return write_atomically(path, content)
    raise ValueError(f"an atlas of {len(atlas.entries())} heads is too large for one file")


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
        examples = (structs.replace(each, sentence=index[each.sentence]) for each in entry.examples)
        return replace(entry, examples=tuple(examples))

    heads = {kind: tuple(tuple(map(renumbered, layer)) for layer in layers) for kind, layers in heads.items()}
    return replace(atlas, heads=heads, sentences=tuple(atlas.sentences[old] for old in used))


def load_atlas(path: Path, model: Transformer) -> Atlas:
    """Read a file of `save_atlas` for a model of this shape; raises CheckpointError for anything else."""
    with reading_stored(path, Atlas, MOST_BYTES) as atlas:
        sizes = {kind: [len(layer) for layer in layers] for kind, layers in atlas.heads.items()}
        if sizes != {kind: [model.config.num_heads] * len(getattr(model, kind.stack)) for kind in AttentionKind}:
            raise ValueError("its heads are not those of the model")
        return atlas


def find_atlas(folder: Path, model: Transformer) -> Atlas | None:
    """Return the atlas in a checkpoint's folder, None where there is none; raises as `load_atlas`."""
    path = folder / ATLAS_FILE
    if (folder / "heads.json").is_file() and not path.is_file():
        command = f"headlight atlas --checkpoint {folder} --pairs PAIRS.tsv --out FOLDER"
        logger.warning("heads.json is not read any more; %s takes its place: %s", ATLAS_FILE, command)
    return load_atlas(path, model) if path.is_file() else None
