"""Atlas of merged statistics and of the maps of their examples."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...data.tokenizer import TextTokenizer
from ...interpret.head_patterns import Pattern
from ...model.names import AttentionKind
from .atlas import Atlas, AtlasProvenance, Example, HeadEntry, Join, Mean, Neighbour, Role, Sentence
from .drawing import Choice, Drawn, choose
from .statistics import MEASURES, KindStatistics, Statistics

MOST_JOINS = 12  # of each list
MOST_NEIGHBOURS = 5
# By kind, [layers, heads] of importance and its standard error; and of a kind's alignment error rates.
Importance = Mapping[AttentionKind, np.ndarray]
ErrorRates = Mapping[AttentionKind, np.ndarray]


def summarise(
    statistics: Statistics,
    drawn: Drawn,
    tokenizer: TextTokenizer,
    heads: int,
    provenance: AtlasProvenance,
    importance: Importance | None = None,
    error_rates: ErrorRates | None = None,
) -> Atlas:
    """Return the atlas of a model with so many `heads` a layer.

    importance: by kind [layers, heads, 2], means and standard errors; error_rates: by kind [layers, heads], NaN where
    there is none.
    """
    summary = _Summary(statistics, drawn, tokenizer)
    entries = {}
    for kind, each in statistics.kinds.items():
        flat = [summary.entry(kind, number, heads) for number in range(len(each.roles))]
        flat = [_measured_elsewhere(entry, importance, error_rates) for entry in flat]
        entries[kind] = tuple(tuple(flat[start : start + heads]) for start in range(0, len(flat), heads))
    return Atlas(
        provenance=provenance,
        sentences_measured=statistics.sentences,
        tokens=(statistics.source_tokens, statistics.target_tokens),
        sentences=tuple(summary.sentences),
        heads=entries,
    )


def _measured_elsewhere(entry: HeadEntry, importance: Importance | None, rates: ErrorRates | None) -> HeadEntry:
    of_importance, rate = None, None
    if importance is not None:
        mean, error = importance[entry.kind][entry.layer, entry.head]
        of_importance = _rounded(mean, error)
    if rates is not None and entry.kind in rates:
        value = float(rates[entry.kind][entry.layer, entry.head])
        rate = None if np.isnan(value) else round(value, 4)
    return replace(entry, importance=of_importance, alignment_error_rate=rate)


class _Summary:
    """Makes entries, and collects the sentences that their examples name."""

    def __init__(self, statistics: Statistics, drawn: Drawn, tokenizer: TextTokenizer):
        self._statistics, self._drawn, self._tokenizer = statistics, drawn, tokenizer
        self.sentences: list[Sentence] = []
        self._index: dict[int, int] = {}
        self._cosines = {kind: _cosines(each) for kind, each in statistics.kinds.items()}
        self._means = {
            kind: {measure: each.mean(measure) for measure in MEASURES} for kind, each in statistics.kinds.items()
        }

    def entry(self, kind: AttentionKind, number: int, heads: int) -> HeadEntry:
        """Return one head of a kind, numbered through all layers."""
        each = self._statistics.kinds[kind]
        choice = choose(self._statistics, kind, number)
        means = self._means[kind]
        queries, keys, pairs = self._joins(kind, number)
        return HeadEntry(
            kind=kind,
            layer=number // heads,
            head=number % heads,
            measures={name: _rounded(mean[number], error[number]) for name, (mean, error) in means.items()},
            roles={
                pattern: Role(*map(int, counts))
                for pattern, counts in zip(Pattern, each.roles[number].T, strict=True)
                if counts.any()
            },
            greatest=tuple(each.greatest[number].tolist()),
            confidence=tuple(each.confidence[number].tolist()),
            borders=choice.borders,
            examples=tuple(self._examples(kind, number, choice)),
            queries=queries,
            keys=keys,
            pairs=pairs,
            nearest=self._nearest(kind, number, heads),
        )

    def _examples(self, kind: AttentionKind, number: int, choice: Choice) -> list[Example]:
        examples = [self._example(kind, number, key, choice, True) for key in choice.strongest]
        for fifth in reversed(choice.fifths):
            examples += [self._example(kind, number, key, choice, False) for key in fifth]
        return examples

    def _example(self, kind: AttentionKind, number: int, key: int, choice: Choice, strongest: bool) -> Example:
        drawn = self._drawn.maps[kind, number, key]
        of = next((fifth for fifth, keys in enumerate(choice.fifths) if key in keys), None)
        if of is None:
            of = choice.fifth_of(drawn.confidence)
        thousandths = tuple(round(1000 * weight) for weight in drawn.weights)
        return Example(self._sentence(key), of, strongest, drawn.confidence, drawn.cells, thousandths)

    def _sentence(self, key: int) -> int:
        if key not in self._index:
            source, target = self._statistics.ids[key]
            tokens = tuple(map(self._tokenizer.piece_text, target))
            self._index[key] = len(self.sentences)
            texts = tuple(map(self._tokenizer.source_piece_text, source))
            self.sentences.append(Sentence(texts, tokens[0], tokens[1:]))
        return self._index[key]

    def _joins(self, kind: AttentionKind, number: int) -> tuple[tuple[Join, ...], ...]:
        """Return the tokens that a head joins most: by query, by key, and pairs of both."""
        of_query = self._tokenizer.source_piece_text if kind == AttentionKind.ENCODER else self._tokenizer.piece_text
        of_key = self._tokenizer.piece_text if kind == AttentionKind.DECODER else self._tokenizer.source_piece_text
        sums: dict[tuple[int | None, int | None], tuple[int, float]] = {}
        for (query, key), (rows, weight) in self._drawn.joins.get((kind, number), {}).items():
            for name in ((query, None), (None, key), (query, key)):
                before = sums.get(name, (0, 0.0))
                sums[name] = before[0] + rows, before[1] + weight
        ranked = sorted(sums.items(), key=lambda each: (-each[1][1], repr(each[0])))
        joins: dict[tuple[bool, bool], list[Join]] = {}
        for (one, other), (rows, weight) in ranked:
            texts = None if one is None else of_query(one), None if other is None else of_key(other)
            joins.setdefault((one is None, other is None), []).append(Join(*texts, rows, round(weight, 2)))
        orders = (False, True), (True, False), (False, False)
        return tuple(tuple(joins.get(order, ())[:MOST_JOINS]) for order in orders)

    def _nearest(self, kind: AttentionKind, number: int, heads: int) -> tuple[Neighbour, ...]:
        cosines = self._cosines[kind][number]
        order = [at for at in np.argsort(-cosines, kind="stable").tolist() if at != number][:MOST_NEIGHBOURS]
        return tuple(Neighbour(at // heads, at % heads, round(float(cosines[at]), 4)) for at in order)


def _cosines(kind: KindStatistics) -> np.ndarray:
    """Return the cosine between the weights of each two heads: [heads, heads], 0 for a head without any weight."""
    lengths = np.sqrt(np.maximum(np.diagonal(kind.products), 1e-300))
    return np.clip(kind.products / lengths[:, None] / lengths, 0, 1)


def _rounded(mean: float, error: float) -> Mean:
    """Return both to six decimals, 0 without any measured sentence."""
    return (0.0, 0.0) if np.isnan(mean) else (round(float(mean), 6), round(float(error), 6))
