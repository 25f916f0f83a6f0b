"""Measures of why a head looks at a key: parts of its score, the row without one of them, weight without content."""

import numpy as np

from headlight.app import results
from headlight.app.results import what_if
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure
from headlight.plots.names import one_head_name, part_name, sentence_case
from headlight.plots.numbers import percent, signed
from headlight.plots.tokens import quoted, quoted_at
from headlight.views.attention import why_content
from headlight.views.attention.why_content import Cell
from transformer.interpret.score_parts import BIASES, ScoreParts
from transformer.interpret.trace import keys_of
from transformer.interpret.what_if.intervention import Zero
from transformer.model.head_ref import HeadRef
from transformer.model.names import AttentionKind

from .wording import MOST_OPTIONS, NEAR, readable

NEAR_SCORE = 0.2  # between two sums of products: less does not decide
ALIKE = 0.05  # between a predicted score and that of the run
MOST_KEPT = 0.75  # of a weight that hardly falls


def _cell_of(run: Run) -> tuple[Cell, ScoreParts, dict[str, str]]:
    """Return the cell that a lesson is about, the parts of its lead over the runner-up, and names for its texts."""
    trace = run.trace
    head = HeadRef(AttentionKind.CROSS, *results.default_head(run.request, "cross"))
    query = why_content.default_query(trace, head)
    key, *others = why_content.keys_by_weight(trace, head, query)
    weights = why_content.weights_of(trace, head)[query]
    if not others or weights[key] - weights[others[0]] < NEAR:
        raise Undecided("No row of this head has one weight that is clearly the largest here.")
    cell = Cell(head, query, key, others[0])
    keys, words = readable(keys_of(trace, head.kind)), readable(trace.target_tokens)
    return (
        cell,
        what_if.parts_of_score(run.request, head, query, key, others[0]),
        {
            "cell_head": head.address,
            "head_name": one_head_name(head.layer or 0, head.head or 0),
            "row": str(query + 1),
            "key": str(key + 1),
            "against": str(others[0] + 1),
            "word": words[query],
            "read": keys[key],
            "other": keys[others[0]],
        },
    )


@measure
def part_of_lead(run: Run, side: str) -> Answer:
    """Ask which part of the "query" or the "key" carries the lead of the key that a head reads over the runner-up.

    names: cell_head (as addresses have it), head_name, row, key and against (from 1), word, read, other.
    """
    _, found, names = _cell_of(run)
    grouped = found.grouped()
    parts, axis = (grouped.query_parts, 1) if side == "query" else (grouped.key_parts, 0)
    sums = {part: float(total) for part, total in zip(parts, grouped.products.sum(axis=axis), strict=True)}
    ranked = sorted((part for part in sums if part.kind != BIASES), key=lambda part: -sums[part])[:MOST_OPTIONS]
    best, second = ranked[:2]
    if sums[best] < NEAR_SCORE or sums[best] - sums[second] < NEAR_SCORE:
        raise Undecided(f"No part of the {side} carries this score alone here.")
    feedback = {part: f"It makes {signed(sums[part], 2)} of {signed(found.score, 2)}." for part in ranked}
    return Answer(
        Kind.ONE,
        f"The {side}’s {part_name(best)} makes {signed(sums[best], 2)} of the lead of {signed(found.score, 2)}.",
        f"By part: {'; '.join(f'{part_name(part)} {signed(sums[part], 2)}' for part in ranked)}.",
        tuple(Option(part_name(part), part_name(part), feedback[part]) for part in ranked),
        frozenset({part_name(best)}),
        names=names,
    )


def _removed_from(found: ScoreParts) -> HeadRef:
    """Return the head whose part the score needs most."""
    heads = why_content.writers(found)
    if not heads:
        raise Undecided("No head wrote before the one that is shown here.")
    return heads[0]


@measure
def row_without_part(run: Run) -> Answer:
    """Ask what becomes of the row's largest weight when the head whose part its score needs most is switched off.

    names: as `part_of_lead`, and removed (that head, as an address has it), removed_name.
    """
    cell, found, names = _cell_of(run)
    removed = _removed_from(found)
    after = why_content.weights_of(what_if.same_target_trace(run.request, (Zero.of(removed),)), cell.head)[cell.query]
    before = float(why_content.weights_of(run.trace, cell.head)[cell.query, cell.key])
    keys, now, largest = readable(run.trace.source_tokens), float(after[cell.key]), int(np.argmax(after))
    removed_name = why_content.head_label(removed)
    outcome = "other" if largest != cell.key else "kept" if now >= MOST_KEPT * before else "less"
    return Answer(
        Kind.ONE,
        f"Without {removed_name} the weight on {quoted(keys[cell.key])} goes from {percent(before)} to {percent(now)}.",
        f"The largest weight of the row is then that on {quoted_at(keys, largest)}, {percent(float(after[largest]))}.",
        (
            Option("kept", "it hardly falls"),
            Option("less", "it falls by more than a quarter, but stays the largest"),
            Option("other", "another key gets the largest weight"),
        ),
        frozenset({outcome}),
        names={**names, "removed": removed.address, "removed_name": removed_name},
    )


@measure
def predicted_or_run(run: Run) -> Answer:
    """Ask whether a run's lead without that head's part is higher or lower than the parts predict.

    names: as `row_without_part`.
    """
    cell, found, names = _cell_of(run)
    removed = _removed_from(found)
    predicted = found.without(why_content.part_of(removed))
    score = what_if.score_of_run_without(run.request, cell.head, cell.query, cell.key, cell.against, removed)
    gap = score - predicted
    outcome = "alike" if abs(gap) < ALIKE else "higher" if gap > 0 else "lower"
    return Answer(
        Kind.ONE,
        f"The parts predict {signed(predicted, 2)}, the run gives {signed(score, 2)}.",
        f"With the part the lead is {signed(found.score, 2)}; its products add {signed(found.total - predicted, 2)}.",
        (
            Option("alike", "the same, give or take 0.05"),
            Option("higher", "the run’s is higher"),
            Option("lower", "the run’s is lower"),
        ),
        frozenset({outcome}),
        names={**names, "removed": removed.address, "removed_name": why_content.head_label(removed)},
    )


@measure
def resting_share(run: Run) -> Answer:
    """Ask what percentage of all cross-attention rests on keys without content, the end and punctuation."""
    shares = run.trace.special_share().total(AttentionKind.CROSS)
    value = 100 * float(shares.mean())
    return Answer(
        Kind.NUMBER,
        f"It is {percent(value / 100)} of the weight.",
        f"From head to head it goes from {percent(float(shares.min()))} to {percent(float(shares.max()))}.",
        value=value,
        tolerance=10.0,
        bounds=(0, 100),
    )


@measure
def resting_head(run: Run) -> Answer:
    """Ask which head of cross-attention gives the largest share of its weight to the end of sentence.

    names: resting (that head).
    """
    ends = [token == "</s>" for token in run.trace.source_tokens]
    shares = run.trace.cross[..., ends].sum(axis=-1).mean(axis=-1, dtype=np.float64)  # layers heads
    ranked = sorted(np.ndindex(*shares.shape), key=lambda at: -shares[at])
    behind = [at for at in ranked if shares[ranked[0]] - shares[at] >= NEAR]
    if not behind:
        raise Undecided("No head rests on the end of the sentence clearly more than others here.")
    chosen = list(dict.fromkeys([ranked[0], behind[0], behind[len(behind) // 2], behind[-1]]))
    heads = {at: HeadRef(AttentionKind.CROSS, *map(int, at)) for at in chosen}
    feedback = {at: f"It gives {percent(float(shares[at]))} of its weight to the end." for at in chosen}
    best = ranked[0]
    return Answer(
        Kind.ONE,
        f"{sentence_case(one_head_name(*best))} gives {percent(float(shares[best]))} of its weight to the end.",
        f"All heads together give it {percent(float(shares.mean()))}.",
        tuple(Option(heads[at].address, one_head_name(*map(int, at)), feedback[at]) for at in chosen),
        frozenset({heads[best].address}),
        names={"resting": heads[best].address},
    )
