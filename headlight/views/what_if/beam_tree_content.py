"""A search tree laid out: a column for each step, a row for each branch that leads somewhere else; and in words."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from headlight.plots.text import format_probability, quoted, signed
from transformer.decoding.beam import Branch, Outcome, best_branch, path_to

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


def describe_tree(branches: Sequence[Branch]) -> str:
    """Say how many branches there were, what became of them, and how far back the best one was on its way."""
    counts = {outcome: sum(branch.outcome == outcome for branch in branches) for outcome in Outcome}
    text = (
        f"The search grew {len(branches)} branches, one for each token. Ended: {counts[Outcome.ENDED]}; fell out of "
        f"the beam: {counts[Outcome.FELL_OUT]}; still open at the end: {counts[Outcome.OPEN]}."
    )
    way = [branches[number] for number in path_to(branches, best_branch(branches))]
    worst = max(way, key=lambda branch: branch.place or 0)
    if not counts[Outcome.ENDED] or worst.place is None:
        return text
    return f"{text} The best was at worst in place {worst.place} of the unfinished ones, after step {len(worst.ids)}."
