"""Measures of the reasons for a weight: parts of its score, the row without one of them, weight without content."""

from typing import Any

import numpy as np

from headlight.app import results
from headlight.app.results import what_if
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, largest, measure
from headlight.plots.names import one_head_name, part_name, sentence_case
from headlight.plots.numbers import percent, signed
from headlight.plots.tokens import quoted, quoted_at
from headlight.views.research import why_content
from headlight.views.research.why_content import Cell
from transformer.interpret.score_parts import BIASES, ScoreParts
from transformer.interpret.trace import keys_of
from transformer.interpret.what_if.intervention import Zero
from transformer.model.head_ref import HeadRef
from transformer.model.names import AttentionKind

from .wording import MOST_OPTIONS, NEAR, in_percent, readable

NEAR_SCORE = 0.2  # between two sums of products: less does not decide
ALIKE = 0.05  # between a predicted score and that of the run
MOST_KEPT = 0.75  # of a weight that hardly falls


def _cell_of(run: Run) -> tuple[Cell, ScoreParts, dict[str, Any]]:
    """Return the cell that a lesson is about, the parts of its lead over the runner-up, and names for its texts."""
    trace = run.trace
    layer, number = results.default_head(run.request, "cross")
    head = HeadRef(AttentionKind.CROSS, layer, number)
    query = why_content.default_query(trace, head)
    key, *others = why_content.keys_by_weight(trace, head, query)
    weights = why_content.weights_of(trace, head)[query]
    if not others or weights[key] - weights[others[0]] < NEAR:
        raise Undecided("No row of this head has one weight that is clearly the largest here.")
    keys, words = readable(keys_of(trace, head.kind)), readable(trace.target_tokens)
    names = {"cell_head": head, "head_name": one_head_name(layer, number), "row": query, "key": key}
    names |= {"against": others[0], "word": words[query], "read": keys[key], "other": keys[others[0]]}
    return Cell(head, query, key, others[0]), what_if.parts_of_score(run.request, head, query, key, others[0]), names


@measure
def part_of_lead(run: Run, side: str) -> Answer:
    """Ask which part of the "query" or the "key" carries the lead of the key that a head reads over the runner-up.

    names: cell_head, head_name, row, key and against, word, read, other.
    """
    _, parts, names = _cell_of(run)
    grouped = parts.grouped()
    streams, axis = (grouped.query_parts, 1) if side == "query" else (grouped.key_parts, 0)
    sums = {part: float(total) for part, total in zip(streams, grouped.products.sum(axis=axis), strict=True)}
    ranked = sorted((part for part in sums if part.kind != BIASES), key=lambda part: -sums[part])[:MOST_OPTIONS]
    best, second = ranked[:2]
    if sums[best] < NEAR_SCORE or sums[best] - sums[second] < NEAR_SCORE:
        raise Undecided(f"No part of the {side} carries this score alone here.")
    options = tuple(
        Option(
            part_name(part),
            part_name(part),
            f"It makes {signed(sums[part], 2)} of {signed(parts.score, 2)}.",
            sums[part],
        )
        for part in ranked
    )
    return Answer(
        Kind.ONE,
        f"The {side}’s {part_name(best)} makes {signed(sums[best], 2)} of the lead of {signed(parts.score, 2)}.",
        f"By part: {'; '.join(f'{part_name(part)} {signed(sums[part], 2)}' for part in ranked)}.",
        options,
        largest(options),
        names=names,
    )


def _removed_from(parts: ScoreParts) -> tuple[HeadRef, dict[str, Any]]:
    """Return the head whose part the score needs most, and its names: removed, removed_name. Raises Undecided."""
    heads = why_content.writers(parts)
    if not heads:
        raise Undecided("No head wrote before the one that is shown here.")
    return heads[0], {"removed": heads[0], "removed_name": why_content.head_label(heads[0])}


@measure
def row_without_part(run: Run) -> Answer:
    """Ask what becomes of the row's largest weight when the head whose part its score needs most is switched off.

    names: as `part_of_lead`, and removed (that head), removed_name.
    """
    cell, parts, names = _cell_of(run)
    removed, removed_names = _removed_from(parts)
    after = why_content.weights_of(what_if.same_target_trace(run.request, (Zero.of(removed),)), cell.head)[cell.query]
    before = float(why_content.weights_of(run.trace, cell.head)[cell.query, cell.key])
    keys, now, highest = readable(run.trace.source_tokens), float(after[cell.key]), int(np.argmax(after))
    return Answer(
        Kind.ONE,
        f"Without {removed_names['removed_name']} the weight on {quoted(keys[cell.key])} goes from {percent(before)} "
        f"to {percent(now)}.",
        f"The largest weight of the row is then that on {quoted_at(keys, highest)}, {percent(float(after[highest]))}.",
        (
            Option("kept", "it hardly falls"),
            Option("less", "it falls by more than a quarter, but stays the largest"),
            Option("other", "another key gets the largest weight"),
        ),
        {"other" if highest != cell.key else "kept" if now >= MOST_KEPT * before else "less"},
        names=names | removed_names,
    )


@measure
def predicted_or_run(run: Run) -> Answer:
    """Ask whether a run's lead without that head's part is higher or lower than the parts predict.

    names: as `row_without_part`, and predicted and run, both leads.
    """
    cell, parts, names = _cell_of(run)
    removed, removed_names = _removed_from(parts)
    predicted = parts.without(why_content.part_of(removed))
    score = what_if.score_of_run_without(run.request, cell.head, cell.query, cell.key, cell.against, removed)
    gap = score - predicted
    return Answer(
        Kind.ONE,
        f"The parts predict {signed(predicted, 2)}, the run gives {signed(score, 2)}.",
        f"With the part the lead is {signed(parts.score, 2)}; its products add {signed(parts.total - predicted, 2)}.",
        (
            Option("alike", "the same, give or take 0.05"),
            Option("higher", "the run’s is higher"),
            Option("lower", "the run’s is lower"),
        ),
        {"alike" if abs(gap) < ALIKE else "higher" if gap > 0 else "lower"},
        names=names | removed_names | {"predicted": signed(predicted, 2), "run": signed(score, 2)},
    )


@measure
def resting_share(run: Run) -> Answer:
    """Ask what percentage of all cross-attention rests on keys without content, the end and punctuation."""
    shares = run.trace.special_share().total(AttentionKind.CROSS)
    mean = float(shares.mean())
    return Answer(
        Kind.NUMBER,
        f"It is {percent(mean)} of the weight.",
        f"From head to head it goes from {percent(float(shares.min()))} to {percent(float(shares.max()))}.",
        **in_percent(mean),
    )


@measure
def resting_head(run: Run) -> Answer:
    """Ask which head of cross-attention gives the largest share of its weight to the end of sentence.

    names: resting (that head).
    """
    ends = [token == "</s>" for token in run.trace.source_tokens]
    weights = run.trace.cross[..., ends].sum(axis=-1).mean(axis=-1, dtype=np.float64)  # layers heads
    shares = {HeadRef(AttentionKind.CROSS, *map(int, at)): float(share) for at, share in np.ndenumerate(weights)}
    best, *others = sorted(shares, key=lambda head: -shares[head])
    behind = [head for head in others if shares[best] - shares[head] >= NEAR]
    if not behind:
        raise Undecided("No head rests on the end of the sentence clearly more than others here.")
    options = tuple(
        Option(
            head.address,
            one_head_name(head.layer or 0, head.head or 0),
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
