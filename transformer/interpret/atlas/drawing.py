"""The second pass of an atlas: the weights of the sentences that were chosen as examples, and the tokens of the sample.

The statistics keep the ids of these sentences and no weights: of a million sentences a few thousand are drawn.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ...data.batching import Example
from ...data.measurement import UNIT
from ...model.names import AttentionKind
from .atlas import FIFTHS
from .batch import Layout, Recorded, Vocabulary, layout_of, padded_ids
from .statistics import BINS, NO_KEY, KindStatistics, Statistics

TOP_KEYS, LEAST_WEIGHT = 8, 0.005  # of a row that is drawn
_DRAWN_A_BATCH = 64

HeadKey = tuple[AttentionKind, int]  # and the head's number among all of the kind


@dataclass(frozen=True)
class Choice:
    """Which sentences are a head's examples, by key: the strongest, and a sample of each fifth, the weakest first.

    borders: the confidence at which each fifth but the last ends, of bins, so that the fifths are of like size only as
    far as the bins allow.
    """

    strongest: tuple[int, ...]
    fifths: tuple[tuple[int, ...], ...]
    borders: tuple[float, ...]

    @property
    def keys(self) -> set[int]:
        """All sentences that are chosen."""
        return {*self.strongest, *(key for fifth in self.fifths for key in fifth)}


def choose(kind: KindStatistics, head: int) -> Choice:
    """Choose a head's examples."""
    counts = kind.shown[head]
    total, below = int(counts.sum()), np.cumsum(counts) - counts
    # A bin belongs to the fifth in which its middle sentence is.
    of_bin = np.minimum((below + counts / 2) * FIFTHS // max(total, 1), FIFTHS - 1).astype(int)
    fifths, count = [], kind.sampled.shape[-1]
    for fifth in range(FIFTHS):
        keys = np.unique(kind.sampled[head][of_bin == fifth])
        fifths.append(tuple(int(key) for key in keys[:count] if key != NO_KEY))
    last = [int(np.flatnonzero(of_bin <= fifth).max(initial=-1)) + 1 for fifth in range(FIFTHS - 1)]
    return Choice(tuple(kind.strongest_of(head)), tuple(fifths), tuple(bin / BINS for bin in last))


def choose_all(statistics: Statistics) -> dict[HeadKey, Choice]:
    """Choose the examples of all heads."""
    heads = [(kind, head) for kind, each in statistics.kinds.items() for head in range(len(each.roles))]
    return {(kind, head): choose(statistics.kinds[kind], head) for kind, head in heads}


@dataclass(frozen=True)
class DrawTask:
    """Sentences to draw: their keys, the heads whose examples they are, and whether they are in the sample."""

    keys: tuple[int, ...]
    examples: tuple[Example, ...]
    heads: tuple[tuple[HeadKey, ...], ...]
    sampled: tuple[bool, ...]


def draw_tasks(statistics: Statistics) -> list[DrawTask]:
    """Return all sentences to be drawn, in batches of like length: the same for equal statistics."""
    wanted: dict[int, list[HeadKey]] = {}
    for head, choice in choose_all(statistics).items():
        for key in choice.keys:
            wanted.setdefault(key, []).append(head)
    sample = {int(key) for key in statistics.sample if key != NO_KEY}
    ordered = sorted(wanted.keys() | sample, key=lambda key: (max(map(len, statistics.kept[key])), key))
    return [
        DrawTask(
            keys=tuple(keys),
            examples=tuple(Example(*statistics.kept[key]) for key in keys),
            heads=tuple(tuple(wanted.get(key, ())) for key in keys),
            sampled=tuple(key in sample for key in keys),
        )
        for start in range(0, len(ordered), _DRAWN_A_BATCH)
        for keys in [ordered[start : start + _DRAWN_A_BATCH]]
    ]


@dataclass(frozen=True)
class DrawnMap:
    """A head's map in a sentence: its confidence, and cells, row * columns + column, with their weights."""

    confidence: float
    cells: tuple[int, ...]
    weights: tuple[float, ...]


Joins = Mapping[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class Drawn:
    """What was drawn of some sentences.

    maps: of the examples, by kind, number of the head and key. joins: of each head, by the ids of a query's token and a
    key's, in how many rows of the sample that key has the greatest weight, and the sum of these weights in UNIT.
    """

    maps: Mapping[tuple[AttentionKind, int, int], DrawnMap]
    joins: Mapping[HeadKey, Joins]

    def merge(self, other: "Drawn") -> "Drawn":
        """Return what was drawn of both parts, which have no sentence in common."""
        joins: dict[HeadKey, dict[tuple[int, int], tuple[int, int]]] = {}
        for head, pairs in (*self.joins.items(), *other.joins.items()):
            into = joins.setdefault(head, {})
            for pair, (rows, weight) in pairs.items():
                before = into.get(pair, (0, 0))
                into[pair] = before[0] + rows, before[1] + weight
        return Drawn({**self.maps, **other.maps}, joins)

    def to_bytes(self) -> bytes:
        """Return it as JSON."""
        maps = [[*key, each.confidence, each.cells, each.weights] for key, each in self.maps.items()]
        joins = [[*head, [[*pair, *sums] for pair, sums in pairs.items()]] for head, pairs in self.joins.items()]
        return json.dumps([maps, joins], separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> "Drawn":
        """Read what `to_bytes` wrote."""
        maps, joins = json.loads(content)
        return cls(
            {
                (AttentionKind(kind), head, key): DrawnMap(confidence, tuple(cells), tuple(weights))
                for kind, head, key, confidence, cells, weights in maps
            },
            {
                (AttentionKind(kind), head): {(query, key): (rows, sums) for query, key, rows, sums in pairs}
                for kind, head, pairs in joins
            },
        )


def draw(recorded: Recorded, task: DrawTask, vocabulary: Vocabulary) -> Drawn:
    """Draw the sentences of a task, which were recorded."""
    layouts = {kind: layout_of(kind, recorded, vocabulary) for kind in AttentionKind}
    maps = {}
    for row, (key, heads) in enumerate(zip(task.keys, task.heads, strict=True)):
        for kind, head in heads:
            layout = layouts[kind]
            own = slice(layout.num_queries[row]), slice(layout.num_keys[row])
            weights = np.where(layout.cells[row][own], recorded.weights[kind][row, head][own], 0.0)
            others = np.where(layout.end[row][own[1]], 0.0, weights).max(axis=-1)
            confidence = float(others[layout.choice[row][own[0]]].mean())
            maps[kind, head, key] = DrawnMap(round(confidence, 4), *sparse(weights))
    joins: dict[HeadKey, Joins] = {}
    for kind, layout in layouts.items():
        joins |= _joins(kind, recorded, layout, np.array(task.sampled))
    return Drawn(maps, joins)


def draw_all(parts: Iterable[Drawn]) -> Drawn:
    """Return what was drawn of all parts together."""
    return reduce(Drawn.merge, parts, Drawn({}, {}))


def sparse(weights: np.ndarray) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the cells of a map, [queries, keys], that are drawn: of each row the 8 greatest from 0.005 on."""
    order = np.argsort(-weights, axis=-1, kind="stable")[:, :TOP_KEYS]
    rows = np.repeat(np.arange(len(weights)), order.shape[1])
    values = weights[rows, order.ravel()]
    chosen = values >= LEAST_WEIGHT
    cells = (rows * weights.shape[1] + order.ravel())[chosen]
    by_cell = np.argsort(cells)
    return tuple(cells[by_cell].tolist()), tuple(round(float(each), 3) for each in values[chosen][by_cell])


def _joins(kind: AttentionKind, recorded: Recorded, layout: Layout, counted: np.ndarray) -> dict[HeadKey, Joins]:
    weights = np.where(layout.cells[:, None], recorded.weights[kind], -1.0)  # sentences heads queries keys
    rows_of, columns_of = recorded.sides(kind)
    row_ids, column_ids = padded_ids(rows_of, weights.shape[2]), padded_ids(columns_of, weights.shape[3])
    chosen = np.nonzero(np.broadcast_to((layout.choice & counted[:, None])[:, None], weights.shape[:3]))
    sentences, heads, rows = chosen
    maxima, greatest = weights.argmax(axis=-1)[chosen], np.rint(weights.max(axis=-1)[chosen] / UNIT).astype(np.int64)
    found = np.stack([heads, row_ids[sentences, rows], column_ids[sentences, maxima]])
    pairs, index, counts = np.unique(found, axis=1, return_inverse=True, return_counts=True)
    sums = np.zeros(len(counts), dtype=np.int64)
    np.add.at(sums, index, greatest)
    joins: dict[HeadKey, dict[tuple[int, int], tuple[int, int]]] = {}
    for (head, query, key), count, total in zip(pairs.T.tolist(), counts.tolist(), sums.tolist(), strict=True):
        joins.setdefault((kind, head), {})[query, key] = count, total
    return dict(joins)
