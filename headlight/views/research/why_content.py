"""Sentences of the view "why this cell": the parts of one score, in words."""

from dataclasses import dataclass

import numpy as np

from headlight.app.finding import Finding, Templates
from headlight.plots.names import part_name, with_norms
from headlight.plots.tokens import quoted
from transformer.config import ModelConfig, Positions
from transformer.interpret.head_patterns import is_word
from transformer.interpret.score_parts import BIASES, EMBEDDING, POSITION, ScoreParts, StreamPart
from transformer.interpret.trace import RowLabel, Trace, keys_of, masked_maps, name_rows
from transformer.model.head_ref import HeadRef
from transformer.model.names import AttentionKind

LARGEST = 4  # pairs of parts with a sentence each
TEMPLATES = Templates.beside(__file__)


@dataclass(frozen=True)
class Cell:
    """A cell of a head's map, and the key to compare with; positions count from 0."""

    head: HeadRef
    query: int
    key: int
    against: int | None


@dataclass(frozen=True, eq=False)
class PairOfParts:
    """A pair of parts in a sentence, with the cells of the heads that wrote them, where heads did."""

    sentence: str
    origins: tuple[Cell, ...]


def weights_of(trace: Trace, head: HeadRef) -> np.ndarray:
    """Return a head's map, [queries, keys], masked cells NaN."""
    return np.asarray(masked_maps(trace, head.kind)[head.layer, head.head])


def default_query(trace: Trace, head: HeadRef) -> int:
    """Return the row with the greatest weight on a word among rows that have a choice."""
    weights = np.nan_to_num(weights_of(trace, head))
    words = [is_word(token) for token in keys_of(trace, head.kind)]
    weights[0] *= head.kind != AttentionKind.DECODER  # its only key is the begin of sentence
    return int((weights * words).max(axis=1).argmax())


def keys_by_weight(trace: Trace, head: HeadRef, query: int) -> list[int]:
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
    """Return the part of the query or the key to which the score owes most, and the sum of all parts."""
    head, score = parts.head, parts.score
    row, keys = weights_of(trace, head)[parts.query], keys_of(trace, head.kind)
    part, side, value = _heaviest(parts, 1 if score >= 0 else -1)
    through = f"the {side}’s {part.kind}" if part.kind in (EMBEDDING, POSITION) else part_name(part)
    name, query = "looks" if score >= 0 else "looks_less", row_names(trace, head.kind)[parts.query]
    key, weight = keys[parts.key], {"key": keys[parts.key], "weight": row[parts.key]}
    heaviest = {"side": side, "part": part_name(part), "value": value}
    above: Finding | str = ""
    weights = TEMPLATES("weight", **weight)
    if parts.against is not None:
        above, other = TEMPLATES("above", other=keys[parts.against]), keys[parts.against]
        weights = TEMPLATES("weights", **weight, other=other, other_weight=row[parts.against])
    sums = TEMPLATES("score", key=key, score=score, above=above, total=parts.total, **heaviest)
    return TEMPLATES(name, query=query, key=key, through=through, heaviest=part).followed_by(weights, sums)


def _heaviest(parts: ScoreParts, sign: int) -> tuple[StreamPart, str, float]:
    """Return the part and the side with the largest sum of products in this direction, and the sum; biases aside."""
    sides = ("query", parts.query_parts, 1), ("key", parts.key_parts, 0)
    sums = [
        (part, side, float(total))
        for side, its_parts, axis in sides
        for part, total in zip(its_parts, parts.products.sum(axis=axis), strict=True)
        if part.kind != BIASES
    ]
    return max(sums, key=lambda each: sign * each[2])


def largest_pairs(trace: Trace, parts: ScoreParts) -> list[PairOfParts]:
    """Return the pairs of parts with the largest products, a sentence each; biases aside."""
    kind = parts.head.kind
    query = quoted(query_names(trace, kind)[parts.query])
    key = quoted(keys_of(trace, kind)[parts.key])
    pairs = (each for each in parts.largest(parts.products.size) if BIASES not in (each[0].kind, each[1].kind))
    return [
        PairOfParts(
            str(TEMPLATES("pair", one=_at(one, query), other=_at(other, key), value=value)),
            tuple(
                origin(trace, part.head_ref, position)
                for part, position in ((one, parts.query), (other, parts.key))
                if part.head_ref is not None
            ),
        )
        for (one, other, value), _ in zip(pairs, range(LARGEST), strict=False)
    ]


def _at(part: StreamPart, token: str) -> str:
    if part.kind in (EMBEDDING, POSITION):
        return f"{part.kind} of {token}"
    return f"{part_name(part)} at {token}"


def origin(trace: Trace, head: HeadRef, position: int) -> Cell:
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


def writers(parts: ScoreParts) -> list[HeadRef]:
    """Return the heads that wrote into the query's or the key's stream, the one that the score needs most first."""
    heads = {part.head_ref: part for part in (*parts.query_parts, *parts.key_parts) if part.head_ref is not None}
    effects = {head: abs(parts.total - parts.without(part)) for head, part in heads.items()}
    return sorted(effects, key=lambda head: -effects[head])


def head_label(head: HeadRef) -> str:
    """Return a head's short name: "cross head 2.4"."""
    return part_name(part_of(head))


def part_of(head: HeadRef) -> StreamPart:
    """Return the part that a head wrote."""
    return StreamPart(head.kind, head.layer, head.head)


def describe_removal(parts: ScoreParts, removed: HeadRef, run: float) -> Finding:
    """Return the score that the parts predict without a head's part, and that of the run."""
    return TEMPLATES("removal", score=parts.score, predicted=parts.without(part_of(removed)), run=run)


def removal_reason(config: ModelConfig) -> str:
    """Explain the difference of prediction and run."""
    return with_norms(
        "In the run LayerNorms divide by a new standard deviation, which the prediction holds, and later layers read "
        "the changed stream.",
        config,
    )
