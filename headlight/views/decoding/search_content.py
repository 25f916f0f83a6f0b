"""A beam search as a tree, and sentences on the search: pure functions of its record."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from headlight.plots.text import Finding, format_distinct, format_probability, quoted, signed
from transformer.decoding.beam import Beam, Branch, Outcome, PathOutcome, SearchRecord, best_branch, path_to
from transformer.decoding.sampling import Hypothesis

_LOOKS: dict[Outcome | None, str] = {Outcome.FELL_OUT: "dropped", Outcome.ENDED: "ended"}


def tree_payload(
    branches: Sequence[Branch],
    reads: Sequence[Sequence[float]],
    source: Sequence[str],
    reader: str,
    name: Callable[[int], str],
) -> dict:
    """Return what `components.beam_tree` shows, ready for JSON; the best continuation of a branch comes first.

    reads: for each branch the cross-attention weights of its last step over the `source`; `reader` says whose they are;
    `name` turns an id into the token's text.
    """
    best = set(path_to(branches, best_branch(branches)))
    rows = _rows(branches, best)
    numbers = {branch: number for number, branch in enumerate(rows)}
    drawn = []
    for number, row in rows.items():
        branch = branches[number]
        before = branches[branch.parent].log_probability if branch.parent >= 0 else 0.0
        chance = min(1.0, float(np.exp(branch.log_probability - before)))
        drawn.append(
            {
                "parent": numbers.get(branch.parent, -1),
                "step": len(branch.ids) - 1,
                "row": row,
                "token": name(branch.ids[-1]),
                "note": str(branch.rank or ""),
                "ids": ".".join(map(str, branch.ids)),
                "chance": round(chance, 4),
                "log_probability": round(float(branch.log_probability), 4),
                "look": f"{'best ' if number in best else ''}{_LOOKS.get(branch.outcome, '')}".strip(),
                "words": branch_words(branch, chance, name),
                "reads": [round(float(weight), 4) for weight in reads[number]],
            }
        )
    return {"branches": drawn, "source": list(source), "reader": reader}


def _rows(branches: Sequence[Branch], best: set[int]) -> Mapping[int, int]:
    """Return the row of each branch, each before its continuations: the first of these has its row, others new ones."""
    children: dict[int, list[int]] = {}
    for number in sorted(range(len(branches)), key=lambda n: (n not in best, -branches[n].log_probability)):
        children.setdefault(branches[number].parent, []).append(number)
    rows: dict[int, int] = {}
    waiting, free = children[-1][::-1], 0
    while waiting:
        number = waiting.pop()
        parent = branches[number].parent
        if parent >= 0 and number == children[parent][0]:
            rows[number] = rows[parent]
        else:
            rows[number], free = free, free + 1
        waiting.extend(children.get(number, [])[::-1])
    return rows


def branch_words(branch: Branch, chance: float, name: Callable[[int], str]) -> str:
    """Say what a branch is: its token's probability, log P of all its tokens, its place, and what became of it."""
    ended = f" It ended, rank {branch.rank} with the score {signed(branch.score or 0.0, 2)}."
    fates: dict[Outcome | None, str] = {
        Outcome.ENDED: ended,
        Outcome.FELL_OUT: " None of its continuations was kept.",
        Outcome.OPEN: " Unfinished when the search stopped.",
    }
    in_beam = f", place {branch.place} in the beam" if branch.place else ""
    return (
        f"{quoted(name(branch.ids[-1]))}, step {len(branch.ids)}: {format_probability(chance)} after what came before; "
        f"log P of all so far {signed(branch.log_probability, 2)}{in_beam}.{fates.get(branch.outcome, '')}"
    )


def describe_tree(branches: Sequence[Branch]) -> Finding:
    """Say how far back the best one was on its way, how many branches there were, and what became of them."""
    counts = {outcome: sum(branch.outcome == outcome for branch in branches) for outcome in Outcome}
    grown = (
        f"The search grew {len(branches)} branches, one for each token: of these {counts[Outcome.ENDED]} ended, "
        f"{counts[Outcome.FELL_OUT]} fell out of the beam, {counts[Outcome.OPEN]} stayed open at the end."
    )
    if not counts[Outcome.ENDED]:
        return Finding("No translation had ended when the search stopped.", grown)
    way = [branches[number] for number in path_to(branches, best_branch(branches))]
    worst = max(way, key=lambda branch: branch.place or 0)
    if worst.place is None:
        return Finding("The best translation ended with its first token.", grown)
    if worst.place == 1:
        return Finding("The best translation led the unfinished ones at every step.", grown)
    headline = f"After step {len(worst.ids)} the best translation was only in place {worst.place}."
    return Finding(headline, f"At no step was it farther back among the unfinished ones. {grown}")


def describe_search(
    record: SearchRecord, greedy: Hypothesis, beam: Beam, text: Callable[[list[int]], str]
) -> tuple[Finding, str]:
    """Return what beam search gained over greedy decoding, or what became of greedy's path, and what to try.

    `text` decodes ids.
    """
    best = record.ended[0]
    if best.ids == greedy.ids:
        return Finding("Greedy decoding finds the same translation here."), "a longer sentence."
    searched, single = format_distinct(best.log_probability, greedy.log_probability)
    headline = f"Beam search has log P {searched}, greedy decoding {single}."
    written = f"Greedy decoding writes: “{text(list(greedy.ids))}”"
    if best.log_probability > greedy.log_probability:
        return Finding(headline, written), "both, step by step: where do they part?"
    fate, attempt = _fate_words(record.outcome_of(greedy.ids), len(greedy.ids), beam)
    return Finding(headline, f"{fate} {written}"), attempt


def _fate_words(fate: PathOutcome, length: int, beam: Beam) -> tuple[str, str]:
    """Return what became of greedy's translation in the search, though it is no less probable, and what to try."""
    if fate.outcome == Outcome.ENDED:
        words = f"Greedy's translation ended with rank {fate.place} by score, with length penalty alpha {beam.alpha:g}."
        return words, "alpha 0."
    if fate.outcome == Outcome.FELL_OUT:
        return (
            f"Greedy's translation fell out of the beam at step {fate.place} of {length}, where the beam's {beam.size} "
            "best continuations were all likelier.",
            "a wider beam.",
        )
    return (
        f"Greedy's translation was still in the beam, unfinished, when the search stopped: with alpha {beam.alpha:g} "
        "it could no longer reach the best score.",
        "alpha 0.",
    )
