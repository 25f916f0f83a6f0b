"""Sentences of the view "why this cell": the parts of one score, in words."""

from dataclasses import dataclass

import numpy as np

from headlight.app.finding import Finding
from headlight.plots.names import part_name, with_norms
from headlight.plots.numbers import format_probability, signed
from headlight.plots.tokens import quoted
from transformer.config import ModelConfig, Positions
from transformer.interpret.head_patterns import is_word
from transformer.interpret.score_parts import BIASES, EMBEDDING, POSITION, ScoreParts, StreamPart
from transformer.interpret.trace import RowLabel, Trace, keys_of, masked_maps, name_rows
from transformer.model.head_ref import HeadRef
from transformer.model.names import AttentionKind

LARGEST = 5  # pairs of parts with a sentence each


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


def describe_cell(trace: Trace, found: ScoreParts) -> Finding:
    """Say which part the query or the key has to thank for the score, and that all parts add up."""
    head, lead = found.head, found.score
    names, keys = row_names(trace, head.kind), keys_of(trace, head.kind)
    row, chosen = weights_of(trace, head)[found.query], quoted(keys[found.key])
    part, side, value = _heaviest(found, 1 if lead >= 0 else -1)
    through = f"the {side}’s {part.kind}" if part.kind in (EMBEDDING, POSITION) else part_name(part)
    does = "looks at" if lead >= 0 else "looks less at"
    compared = weight = ""
    if found.against is not None:
        weight = f", {format_probability(row[found.against])} on {quoted(keys[found.against])}"
        compared = f" above that of {quoted(keys[found.against])}"
    return Finding(
        f"{quoted(names[found.query])} {does} {chosen} mostly through {through}.",
        f"The weight on {chosen} is {format_probability(row[found.key])}{weight}. The score of {chosen} is "
        f"{signed(lead, 2)}{compared}; all parts add up to {signed(found.total, 2)}, of which the {side}’s "
        f"{part_name(part)} makes {signed(value, 2)}.",
    )


def _heaviest(found: ScoreParts, sign: int) -> tuple[StreamPart, str, float]:
    """Return the part and its side whose products sum to the most in this direction, and the sum; biases aside."""
    sides = ("query", found.query_parts, 1), ("key", found.key_parts, 0)
    sums = [
        (part, side, float(total))
        for side, parts, axis in sides
        for part, total in zip(parts, found.products.sum(axis=axis), strict=True)
        if part.kind != BIASES
    ]
    return max(sums, key=lambda each: sign * each[2])


def largest_pairs(trace: Trace, found: ScoreParts) -> list[PairOfParts]:
    """Return the pairs of parts with the largest products, a sentence each; biases aside."""
    kind = found.head.kind
    query = quoted(query_names(trace, kind)[found.query])
    key = quoted(keys_of(trace, kind)[found.key])
    pairs = (each for each in found.largest(found.products.size) if BIASES not in (each[0].kind, each[1].kind))
    return [
        PairOfParts(
            f"{_at(one, query)} meets {_at(other, key)}: {signed(value, 2)}.",
            tuple(
                origin(trace, part.head_ref, position)
                for part, position in ((one, found.query), (other, found.key))
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


def describe_biases(found: ScoreParts, config: ModelConfig) -> str:
    """Say what biases add for any query and any key, and relative positions where a model has them."""
    is_query, is_key = (
        np.array([part.kind == BIASES for part in parts]) for parts in (found.query_parts, found.key_parts)
    )
    products = found.products
    any_query, any_key = products[is_query].sum(), products[~is_query][:, is_key].sum()
    relative = (
        f" The relative position adds {signed(found.relative, 2)}." if config.positions == Positions.RELATIVE else ""
    )
    return f"Biases add {signed(any_query, 2)} for any query and {signed(any_key, 2)} for any key.{relative}"


def writers(found: ScoreParts) -> list[HeadRef]:
    """Return the heads that wrote into the query's or the key's stream, the one that the score needs most first."""
    heads = {part.head_ref: part for part in (*found.query_parts, *found.key_parts) if part.head_ref is not None}
    effects = {head: abs(found.total - found.without(part)) for head, part in heads.items()}
    return sorted(effects, key=lambda head: -effects[head])


def head_label(head: HeadRef) -> str:
    """Return a head's short name: "cross head 2.4"."""
    return part_name(part_of(head))


def part_of(head: HeadRef) -> StreamPart:
    """Return the part that a head wrote."""
    return StreamPart(head.kind, head.layer, head.head)


def describe_removal(found: ScoreParts, removed: HeadRef, run: float) -> str:
    """Say the score that the parts predict without a head's part, and that of the run."""
    predicted = found.without(part_of(removed))
    texts = (signed(value, 2) for value in (found.score, predicted, run))
    return "Score {}; without this part {} predicted, {} in the run.".format(*texts)


def removal_reason(config: ModelConfig) -> str:
    """Say why prediction and run differ."""
    return with_norms(
        "In the run LayerNorms divide by a new standard deviation, which the prediction holds, and later layers read "
        "the changed stream.",
        config,
    )
