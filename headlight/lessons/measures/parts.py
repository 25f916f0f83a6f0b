"""Measures of the reasons for a weight: parts of its score, the row without one of them, weight without content."""

from typing import Any
from zlib import crc32

import numpy as np

from headlight.app import results
from headlight.lessons.answer import Answer, Option, Run, Undecided, measure, one_of, percentage
from headlight.plots.names import part_name
from headlight.views.research import why_content
from headlight.views.research.why_content import Cell
from transformer.interpret.head_patterns import is_word
from transformer.interpret.score_parts import BIASES, ScoreParts
from transformer.interpret.trace import keys_of
from transformer.interpret.what_if.intervention import Zero
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

from .wording import MOST_OPTIONS, NEAR, head_names, moved, readable

NEAR_SCORE = 0.2  # between two sums of products: less does not decide


def _cell_of(run: Run, rank: int = 1) -> tuple[Cell, ScoreParts, dict[str, Any]]:
    """Return the cell that a lesson is about, the parts of its lead over the runner-up, and names for its texts.

    rank: 2 for another row, that of the greatest weight on another word.
    """
    trace, head = run.trace, results.default_head(run.request, "cross")
    query, maps = why_content.default_query(trace, head), why_content.weights_of(trace, head)
    if rank > 1:
        read = [trace.source_tokens[key] for key in maps.argmax(axis=1)]
        rows = [row for row, token in enumerate(read) if is_word(token) and token != read[query]]
        rows = [row for row in rows if is_word(trace.target_tokens[row])]
        query = max(rows, key=lambda row: maps[row].max(), default=0)
    key, *others = why_content.keys_by_weight(trace, head, query)
    if not others or maps[query, key] - maps[query, others[0]] < NEAR:
        raise Undecided("no_largest_weight")
    keys, word = readable(keys_of(trace, head.kind)), readable(trace.target_tokens)[query]
    names = {"cell_head": head, "row": query, "key": key, "against": others[0], "word": word, "read": keys[key]}
    parts = run.study.parts(head, query, key, others[0])
    return Cell(head, query, key, others[0]), parts, names | {"other": keys[others[0]], "score": parts.score}


@measure
def part_of_lead(run: Run, side: str, rank: int = 1) -> Answer:
    """Ask which part of the "query" or the "key" makes the largest share of the lead of the key that a head reads.

    rank: 2 for another row of the same head. names: cell_head, row, key and against, word, read, other, score (the
    lead), part and value, the largest and its share, and rest, all that no option has.
    """
    _, parts, names = _cell_of(run, rank)
    grouped = parts.grouped()
    streams, axis = (grouped.query_parts, 1) if side == "query" else (grouped.key_parts, 0)
    sums = {part: float(total) for part, total in zip(streams, grouped.products.sum(axis=axis), strict=True)}
    ranked = sorted((part for part in sums if part.kind != BIASES), key=lambda part: -sums[part])[:MOST_OPTIONS]
    best, others = sums[ranked[0]], max(total for part, total in sums.items() if part != ranked[0])
    if best < NEAR_SCORE or best - others < NEAR_SCORE:
        raise Undecided("no_query_part" if side == "query" else "no_key_part")
    rest = round(parts.score, 2) - sum(round(sums[part], 2) for part in ranked)  # adds up as it is shown
    options = (Option(part_name(part), value=sums[part], values={"part": part}) for part in ranked)
    return one_of(options, tells="truth" if side == "query" else "truth_key", **names, rest=rest)


@measure
def needed_head(run: Run) -> Answer:
    """Ask without which earlier head the lead falls most in a run: of those whose parts matter most to its sum.

    names: those of the cell as in `part_of_lead`, removed (that head), moved (what happens to the lead without it).
    """
    cell, parts, names = _cell_of(run)
    heads, falls = why_content.writers(parts)[:MOST_OPTIONS], dict[Head, float]()
    for head in heads:
        under = run.study.under(Zero.of(head), same_target=True).trace
        row = np.maximum(why_content.weights_of(under, cell.head)[cell.query], np.finfo(np.float32).tiny)
        falls[head] = parts.score - float(np.log(row[cell.key] / row[cell.against]))
    if max(falls.values(), default=0.0) < NEAR_SCORE:
        raise Undecided("no_needed_head")
    options = [
        Option(head.address, value=fall, values={"removed": head, "moved": moved(fall)}) for head, fall in falls.items()
    ]
    return one_of(options, by=NEAR_SCORE, reason="no_needed_head", **names)


@measure
def resting_share(run: Run) -> Answer:
    """Ask what percentage a head of cross-attention gives to keys without content: one of the most or the least.

    names: resting (that head), share (its share), and least, most and mean, those of all heads.
    """
    shares = run.trace.special_share().total(AttentionKind.CROSS)
    ranked = sorted(np.ndindex(*shares.shape), key=shares.__getitem__)
    extreme = [*ranked[:3], *ranked[-4:-1]]  # the first of all is asked for in the next step
    at = extreme[crc32(run.request.text.encode()) % len(extreme)]
    least, most, mean = float(shares.min()), float(shares.max()), float(shares.mean())
    return percentage(float(shares[at]), resting=Head(AttentionKind.CROSS, *at), least=least, most=most, mean=mean)


@measure
def resting_head(run: Run) -> Answer:
    """Ask which head of cross-attention gives the largest share of its weight to the end of sentence.

    names: resting (that head), layer, head, value (its share), and mean, the share of all heads together.
    """
    ends = [token == "</s>" for token in run.trace.source_tokens]
    weights = run.trace.cross[..., ends].sum(axis=-1).mean(axis=-1, dtype=np.float64)  # layers heads
    heads = [Head(AttentionKind.CROSS, *at) for at in np.ndindex(*weights.shape)]
    best, *others = sorted(heads, key=lambda head: -weights[head.index])
    behind = [head for head in others if weights[best.index] - weights[head.index] >= NEAR]
    if not behind:
        raise Undecided("no_resting_head")
    options = [
        Option(head.address, value=float(weights[head.index]), values={"resting": head, **head_names(*head.index)})
        for head in dict.fromkeys((best, behind[0], behind[len(behind) // 2], behind[-1]))
    ]
    return one_of(options, mean=float(weights.mean()))
