"""Sentences of the view "why this cell": the parts of one score, in words."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from headlight.app.finding import Finding, Templates, TokenAt
from headlight.plots.names import part_name
from headlight.plots.numbers import LEAST_SHOWN
from headlight.plots.tokens import quoted_at
from transformer.config import ModelConfig, Positions
from transformer.interpret.head_patterns import is_word
from transformer.interpret.score_parts import BIASES, EMBEDDING, POSITION, RELATIVE, ScoreParts, StreamPart
from transformer.interpret.trace import RowLabel, Trace, keys_of, masked_maps, name_rows
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

LARGEST = 4  # pairs of parts with a sentence each
TEMPLATES = Templates.beside(__file__)


@dataclass(frozen=True)
class Cell:
    """A cell of a head's map, and the key to compare with; positions count from 0."""

    head: Head
    query: int
    key: int
    against: int | None


@dataclass(frozen=True, eq=False)
class PairOfParts:
    """A pair of parts in a sentence, with the cells of the heads that wrote them, where heads did."""

    sentence: str
    origins: tuple[Cell, ...]


def weights_of(trace: Trace, head: Head) -> np.ndarray:
    """Return a head's map, [queries, keys], masked cells NaN."""
    return np.asarray(masked_maps(trace, head.kind)[head.layer, head.head])


def default_query(trace: Trace, head: Head) -> int:
    """Return the row with the greatest weight on a word among rows that have a choice."""
    weights = np.nan_to_num(weights_of(trace, head))
    words = [is_word(token) for token in keys_of(trace, head.kind)]
    weights[0] *= head.kind != AttentionKind.DECODER  # its only key is the begin of sentence
    return int((weights * words).max(axis=1).argmax())


def keys_by_weight(trace: Trace, head: Head, query: int) -> list[int]:
    """Return the keys that a query may attend to, the largest weight first."""
    row = weights_of(trace, head)[query]
    return [int(key) for key in np.argsort(-row, kind="stable") if not np.isnan(row[key])]


def row_names(trace: Trace, kind: AttentionKind) -> tuple[str, ...]:
    """Return the names of the rows, those of a decoder with their input and output token."""
    is_encoder = kind == AttentionKind.ENCODER
    return name_rows(query_names(trace, kind), None if is_encoder else trace.target_tokens, RowLabel.BOTH)


def query_names(trace: Trace, kind: AttentionKind) -> tuple[str, ...]:
    """Return the input tokens of the rows."""
    return trace.source_tokens if kind == AttentionKind.ENCODER else trace.decoder_input_tokens


def describe_cell(trace: Trace, parts: ScoreParts) -> Finding:
    """Say what explains the lead of a key over another, and the sum of all parts; a score alone explains nothing."""
    keys, row, score = keys_of(trace, parts.head.kind), weights_of(trace, parts.head)[parts.query], parts.score
    key, query = TokenAt(keys, parts.key), TokenAt(row_names(trace, parts.head.kind), parts.query)
    numbers: dict[str, Any] = {"query": query, "key": key, "weight": row[parts.key]}
    numbers |= {"score": score, "total": parts.total}
    if parts.against is None:
        name = "only" if np.count_nonzero(~np.isnan(row)) == 1 else "alone"
        return TEMPLATES(name, **numbers).followed_by(TEMPLATES(f"{name}_score", **numbers))
    other, sign = TokenAt(keys, parts.against), 1 if score >= 0 else -1
    numbers |= {"other": other, "other_weight": row[parts.against], "distance": abs(score)}
    scores = TEMPLATES("weights", **numbers), TEMPLATES("above" if sign > 0 else "below", **numbers)
    if abs(score) < LEAST_SHOWN:
        return TEMPLATES("alike", **numbers).followed_by(*scores)
    part, side, value, whole = _heaviest(parts, sign)
    numbers |= {"side": side, "heaviest": part, "value": abs(value), "whole": abs(whole), "share": value / whole}
    numbers["ahead"], numbers["behind"] = (key, other)[::sign]
    is_plain = part.kind in (EMBEDDING, POSITION, BIASES)
    numbers["through"] = TEMPLATES.text("through", side=side, part=part.kind) if is_plain else part_name(part)
    name = "mostly" if value / whole > 0.5 else "in_part"
    return TEMPLATES(name, **numbers).followed_by(*scores, TEMPLATES("favour", **numbers))


def _heaviest(parts: ScoreParts, sign: int) -> tuple[StreamPart, str, float, float]:
    """Return the part and the side with the largest sum of products of this sign, this sum, and the total of all sums
    of this sign on that side. The relative position counts on both sides.
    """
    sums = []
    for side, its_parts, axis in ("query", parts.query_parts, 1), ("key", parts.key_parts, 0):
        values = np.append(parts.products.sum(axis=axis), parts.relative)
        largest, whole = int((sign * values).argmax()), float(values[sign * values > 0].sum())
        sums.append(((*its_parts, StreamPart(RELATIVE))[largest], side, float(values[largest]), whole))
    return max(sums, key=lambda each: sign * each[2])


def largest_pairs(trace: Trace, parts: ScoreParts) -> list[PairOfParts]:
    """Return the pairs of parts with the largest products, or differences of products, a sentence each."""
    kind = parts.head.kind
    keys, query = keys_of(trace, kind), quoted_at(query_names(trace, kind), parts.query)
    key = quoted_at(keys, parts.key)
    minus = "" if parts.against is None else TEMPLATES("minus", against=TokenAt(keys, parts.against))
    return [
        PairOfParts(
            str(TEMPLATES("pair", one=_at(one, query), other=_at(other, key), minus=minus, value=value)),
            tuple(
                origin(trace, part.source_head, position)
                for part, position in ((one, parts.query), (other, parts.key))
                if part.source_head is not None
            ),
        )
        for one, other, value in parts.largest(LARGEST)
    ]


def _at(part: StreamPart, token: str) -> str:
    name = "part_of" if part.kind in (EMBEDDING, POSITION) else "part_at"
    return TEMPLATES.text(name, part=part_name(part), token=token)


def origin(trace: Trace, head: Head, position: int) -> Cell:
    """Return the cell of a head that wrote at a position: its largest weight in this row, beside the runner-up."""
    key, *others = keys_by_weight(trace, head, position)
    return Cell(head, position, key, others[0] if others else None)


def describe_biases(parts: ScoreParts, config: ModelConfig) -> Finding:
    """Return the sums that biases add for any query and any key, and those of relative positions in some models."""
    is_query, is_key = (
        np.array([each.kind == BIASES for each in side]) for side in (parts.query_parts, parts.key_parts)
    )
    any_query, any_key = parts.products[is_query].sum(), parts.products[~is_query][:, is_key].sum()
    has_relative = config.positions == Positions.RELATIVE
    biases = TEMPLATES("biases", any_query=any_query, any_key=any_key)
    return biases.followed_by(TEMPLATES("relative", relative=parts.relative) if has_relative else None)


def writers(parts: ScoreParts) -> list[Head]:
    """Return the heads that wrote into the query's or the key's stream, the one that the score needs most first."""
    heads = {part.source_head: part for part in (*parts.query_parts, *parts.key_parts) if part.source_head is not None}
    effects = {head: abs(parts.total - parts.without(part)) for head, part in heads.items()}
    return sorted(effects, key=lambda head: -effects[head])


def head_label(head: Head) -> str:
    """Return a head's short name: "cross head 2.4"."""
    return part_name(part_of(head))


def part_of(head: Head) -> StreamPart:
    """Return the part that a head wrote."""
    return StreamPart(head.kind, head.layer, head.head)


def describe_removal(parts: ScoreParts, removed: Head, run: float) -> Finding:
    """Return the score that the parts predict without a head's part, and that of the run."""
    name = "removal" if parts.against is None else "removal_of_two"
    return TEMPLATES(name, score=parts.score, predicted=parts.without(part_of(removed)), run=run)
