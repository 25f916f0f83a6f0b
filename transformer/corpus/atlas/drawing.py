"""Second pass of an atlas: the maps of the examples, and the tokens that heads join in the sample.

The statistics keep the ids of these sentences and no maps: of a million sentences a few thousand are drawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from ...data.batching import Example
from ...model.names import AttentionKind
from ...translator import Translator
from ..executors import Executor
from .atlas import FIFTHS, LEAST_WEIGHT
from .batch import Layout, Recorded, Vocabulary, layout_of, padded_ids, record_batch
from .statistics import Statistics, is_shown

TOP_KEYS = 8  # of a row that is drawn
EXAMPLES_PER_FIFTH = 3
_DRAWN_PER_BATCH = 64

HeadKey = tuple[AttentionKind, int]  # the head's number among all of the kind


@dataclass(frozen=True)
class Choice:
    """Keys of the sentences that are a head's examples: the strongest, and some of each fifth, the weakest fifth first.

    borders: the confidence at the end of each fifth but the last, estimated from the sample.
    """

    strongest: tuple[int, ...]
    fifths: tuple[tuple[int, ...], ...]
    borders: tuple[float, ...]

    @property
    def keys(self) -> set[int]:
        """Keys of all examples."""
        return {*self.strongest, *(key for fifth in self.fifths for key in fifth)}

    def fifth_of(self, confidence: float) -> int:
        """Return the fifth of a confidence, from 0, the weakest."""
        return int(np.searchsorted(self.borders, confidence, side="right"))


def choose(statistics: Statistics, kind: AttentionKind, head: int) -> Choice:
    """Choose a head's examples."""
    keys = sorted(key for key in statistics.sample if is_shown(*statistics.ids[key]))
    confidences = [float(statistics.sample[key][kind][head]) for key in keys]
    borders = np.quantile(confidences, np.arange(1, FIFTHS) / FIFTHS) if keys else np.zeros(FIFTHS - 1)
    strongest = tuple(key for _, key in statistics.kinds[kind].strongest[head])
    borders = borders.round(6)
    owners = np.searchsorted(borders, confidences, side="right")
    fifths = (np.flatnonzero(owners == fifth)[:EXAMPLES_PER_FIFTH].tolist() for fifth in range(FIFTHS))
    return Choice(strongest, tuple(tuple(keys[row] for row in rows) for rows in fifths), tuple(borders.tolist()))


def choose_all(statistics: Statistics) -> dict[HeadKey, Choice]:
    """Choose the examples of all heads."""
    heads = [(kind, head) for kind, each in statistics.kinds.items() for head in range(len(each.roles))]
    return {(kind, head): choose(statistics, kind, head) for kind, head in heads}


@dataclass(frozen=True)
class DrawTask:
    """Sentences to draw: their keys and ids, the heads whose examples they are, True for those in the sample."""

    keys: tuple[int, ...]
    examples: tuple[Example, ...]
    heads: tuple[tuple[HeadKey, ...], ...]
    sampled: tuple[bool, ...]


def draw_tasks(statistics: Statistics) -> list[DrawTask]:
    """Return all sentences to draw, in batches of like length."""
    heads_of: dict[int, list[HeadKey]] = {}
    for head, choice in choose_all(statistics).items():
        for key in choice.keys:
            heads_of.setdefault(key, []).append(head)
    sample = statistics.sample.keys()
    ordered = sorted(heads_of.keys() | sample, key=lambda key: (max(map(len, statistics.ids[key])), key))
    return [
        DrawTask(
            keys=tuple(keys),
            examples=tuple(Example(*statistics.ids[key]) for key in keys),
            heads=tuple(tuple(heads_of.get(key, ())) for key in keys),
            sampled=tuple(key in sample for key in keys),
        )
        for start in range(0, len(ordered), _DRAWN_PER_BATCH)
        for keys in [ordered[start : start + _DRAWN_PER_BATCH]]
    ]


@dataclass(frozen=True)
class DrawnMap:
    """A head's map in a sentence: its confidence, and cells, row * columns + column, with their weights."""

    confidence: float
    cells: tuple[int, ...]
    weights: tuple[float, ...]


Joins = Mapping[tuple[int, int], tuple[int, float]]


@dataclass(frozen=True)
class Drawn:
    """Maps and joins of some sentences.

    maps: of the examples, by kind, number of the head and key. joins: of each head, by the ids of a query's token and a
    key's, the number of rows of the sample in which that key has the greatest weight, and the sum of these weights.
    """

    maps: Mapping[tuple[AttentionKind, int, int], DrawnMap]
    joins: Mapping[HeadKey, Joins]

    def __add__(self, other: "Drawn") -> "Drawn":
        """Return the maps and joins of both parts, which have no sentence in common."""
        joins: dict[HeadKey, dict[tuple[int, int], tuple[int, float]]] = {}
        for head, pairs in (*self.joins.items(), *other.joins.items()):
            into = joins.setdefault(head, {})
            for pair, (rows, weight) in pairs.items():
                before = into.get(pair, (0, 0.0))
                into[pair] = before[0] + rows, before[1] + weight
        return Drawn({**self.maps, **other.maps}, joins)


def draw_examples(statistics: Statistics, executor: Executor) -> Drawn:
    """Compute the examples' maps and the joins of the sample."""
    return reduce(add, executor.map(_draw, draw_tasks(statistics)), Drawn({}, {}))


def _draw(translator: Translator, task: DrawTask) -> Drawn:
    return draw(record_batch(translator.model, task.examples), task, Vocabulary.of(translator.tokenizer))


def draw(recorded: Recorded, task: DrawTask, vocabulary: Vocabulary) -> Drawn:
    """Draw the recorded sentences of a task."""
    layouts = {kind: layout_of(kind, recorded, vocabulary) for kind in AttentionKind}
    maps = {}
    for row, (key, heads) in enumerate(zip(task.keys, task.heads, strict=True)):
        for kind, head in heads:
            layout = layouts[kind]
            cells = slice(layout.num_queries[row]), slice(layout.num_keys[row])
            weights = np.where(layout.cells[row][cells], recorded.weights[kind][row, head][cells], 0.0)
            others = np.where(layout.end[row][cells[1]], 0.0, weights).max(axis=-1)
            confidence = float(others[layout.choice[row][cells[0]]].mean())
            maps[kind, head, key] = DrawnMap(round(confidence, 4), *sparse(weights))
    joins: dict[HeadKey, Joins] = {}
    for kind, layout in layouts.items():
        joins |= _joins(kind, recorded, layout, np.array(task.sampled))
    return Drawn(maps, joins)


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
    maxima, greatest = weights.argmax(axis=-1)[chosen], weights.max(axis=-1)[chosen].astype(np.float64)
    triples = np.stack([heads, row_ids[sentences, rows], column_ids[sentences, maxima]])
    pairs, index, counts = np.unique(triples, axis=1, return_inverse=True, return_counts=True)
    sums = np.bincount(index.ravel(), weights=greatest, minlength=len(counts))
    joins: dict[HeadKey, dict[tuple[int, int], tuple[int, float]]] = {}
    for (head, query, key), count, total in zip(pairs.T.tolist(), counts.tolist(), sums.tolist(), strict=True):
        joins.setdefault((kind, head), {})[query, key] = count, total
    return dict(joins)
