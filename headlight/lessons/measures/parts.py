"""Measures of the reasons for a weight: parts of its score, the row without one of them, weight without content."""

from typing import Any
from zlib import crc32

import numpy as np

from headlight.app import results
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, largest, measure
from headlight.plots.names import kind_head_name, one_head_name, part_name, sentence_case
from headlight.plots.numbers import percent, signed
from headlight.views.research import why_content
from headlight.views.research.why_content import Cell
from transformer.interpret.head_patterns import is_word
from transformer.interpret.score_parts import BIASES, ScoreParts
from transformer.interpret.trace import keys_of
from transformer.interpret.what_if.intervention import Zero
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

from .wording import MOST_OPTIONS, NEAR, head_names, in_percent, moved, readable

NEAR_SCORE = 0.2  # between two sums of products: less does not decide


def _cell_of(run: Run, rank: int = 1) -> tuple[Cell, ScoreParts, dict[str, Any]]:
    """Return the cell that a lesson is about, the parts of its lead over the runner-up, and names for its texts.

    rank: 2 for another row, that of the greatest weight on another word.
    """
    trace = run.trace
    layer, number = results.default_head(run.request, "cross").index
    head = Head(AttentionKind.CROSS, layer, number)
    query, maps = why_content.default_query(trace, head), why_content.weights_of(trace, head)
    if rank > 1:
        read = [trace.source_tokens[key] for key in maps.argmax(axis=1)]
        rows = [row for row, token in enumerate(read) if is_word(token) and token != read[query]]
        rows = [row for row in rows if is_word(trace.target_tokens[row])]
        query = max(rows, key=lambda row: maps[row].max(), default=0)
    key, *others = why_content.keys_by_weight(trace, head, query)
    weights = maps[query]
    if not others or weights[key] - weights[others[0]] < NEAR:
        raise Undecided("No row of this head has one weight that is clearly the largest here.")
    keys, words = readable(keys_of(trace, head.kind)), readable(trace.target_tokens)
    names = {"cell_head": head, "head_name": one_head_name(layer, number), "row": query, "key": key}
    names |= {"against": others[0], "word": words[query], "read": keys[key], "other": keys[others[0]]}
    return Cell(head, query, key, others[0]), run.study.parts(head, query, key, others[0]), names


@measure
def part_of_lead(run: Run, side: str, rank: int = 1) -> Answer:
    """Ask which part of the "query" or the "key" makes the largest share of the lead of the key that a head reads.

    rank: 2 for another row of the same head. names: cell_head, head_name, row, key and against, word, read, other.
    """
    _, parts, names = _cell_of(run, rank)
    grouped = parts.grouped()
    streams, axis = (grouped.query_parts, 1) if side == "query" else (grouped.key_parts, 0)
    sums = {part: float(total) for part, total in zip(streams, grouped.products.sum(axis=axis), strict=True)}
    ranked = sorted((part for part in sums if part.kind != BIASES), key=lambda part: -sums[part])[:MOST_OPTIONS]
    best = ranked[0]
    others = max(total for part, total in sums.items() if part != best)
    if sums[best] < NEAR_SCORE or sums[best] - others < NEAR_SCORE:
        raise Undecided(f"No part of the {side} makes a plainly larger share of this lead than all others here.")
    rest = round(parts.score, 2) - sum(round(sums[part], 2) for part in ranked)  # adds up as it is shown
    options = tuple(
        Option(
            part_name(part),
            part_name(part),
            f"It adds {signed(sums[part], 2)} to the lead of {signed(parts.score, 2)}.",
            sums[part],
        )
        for part in ranked
    )
    return Answer(
        Kind.ONE,
        f"The {side}'s {part_name(best)} adds {signed(sums[best], 2)} to the lead of {signed(parts.score, 2)}, more "
        "than any other part.",
        f"By part: {'; '.join(f'{part_name(part)}: {signed(sums[part], 2)}' for part in ranked)}; all others together: "
        f"{signed(rest, 2)}. That makes {signed(parts.score, 2)}.",
        options,
        largest(options),
        names=names,
    )


@measure
def needed_head(run: Run) -> Answer:
    """Ask without which earlier head the lead falls most in a run: of those whose parts matter most to its sum.

    names: as `part_of_lead`, and removed (that head).
    """
    cell, parts, names = _cell_of(run)
    heads, falls = why_content.writers(parts)[:MOST_OPTIONS], dict[Head, float]()
    for head in heads:
        under = run.study.under(Zero.of(head), same_target=True).trace
        row = np.maximum(why_content.weights_of(under, cell.head)[cell.query], np.finfo(np.float32).tiny)
        falls[head] = parts.score - float(np.log(row[cell.key] / row[cell.against]))
    best, *others = sorted(falls, key=lambda head: -falls[head])
    if not others or falls[best] < NEAR_SCORE or falls[best] - falls[others[0]] < NEAR_SCORE:
        raise Undecided("No single head that wrote before is needed plainly more than all others here.")
    lead = f"the lead of {signed(parts.score, 2)}"
    options = tuple(
        Option(head.address, kind_head_name(head), f"Without it {lead} {moved(fall)}.", fall)
        for head, fall in falls.items()
    )
    return Answer(
        Kind.ONE,
        f"Without {kind_head_name(best)} {lead} {moved(falls[best])}, the most of these.",
        "Without each: " + "; ".join(f"{kind_head_name(head)}: the lead {moved(falls[head])}" for head in falls) + ".",
        options,
        largest(options),
        names=names | {"removed": best},
    )


@measure
def resting_share(run: Run) -> Answer:
    """Ask what percentage a head of cross-attention gives to keys without content: one of the most or the least.

    names: layer, head, head_name, and mean, the percentage of all heads.
    """
    shares = run.trace.special_share().total(AttentionKind.CROSS)
    ranked = sorted(np.ndindex(*shares.shape), key=shares.__getitem__)
    extreme = [*ranked[:3], *ranked[-4:-1]]  # the first of all is asked for in the next step
    at = extreme[crc32(run.request.text.encode()) % len(extreme)]
    return Answer(
        Kind.NUMBER,
        f"It gives them {percent(float(shares[at]))} of its weight.",
        f"From head to head it goes from {percent(float(shares.min()))} to {percent(float(shares.max()))}.",
        **in_percent(float(shares[at])),
        names=head_names(*at) | {"mean": float(shares.mean())},
    )


@measure
def resting_head(run: Run) -> Answer:
    """Ask which head of cross-attention gives the largest share of its weight to the end of sentence.

    names: resting (that head).
    """
    ends = [token == "</s>" for token in run.trace.source_tokens]
    weights = run.trace.cross[..., ends].sum(axis=-1).mean(axis=-1, dtype=np.float64)  # layers heads
    shares = {Head(AttentionKind.CROSS, *map(int, at)): float(share) for at, share in np.ndenumerate(weights)}
    best, *others = sorted(shares, key=lambda head: -shares[head])
    behind = [head for head in others if shares[best] - shares[head] >= NEAR]
    if not behind:
        raise Undecided("No head rests on the end of the sentence clearly more than others here.")
    options = tuple(
        Option(
            head.address,
            one_head_name(*head.index),
            f"It gives {percent(shares[head])} of its weight to the end.",
            shares[head],
        )
        for head in dict.fromkeys((best, behind[0], behind[len(behind) // 2], behind[-1]))
    )
    return Answer(
        Kind.ONE,
        f"{sentence_case(options[0].label)} gives {percent(shares[best])} of its weight to the end.",
        f"All heads together give it {percent(float(weights.mean()))}.",
        options,
        largest(options),
        names={"resting": best},
    )
