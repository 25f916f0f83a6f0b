"""A search tree laid out: a column for each step, a row for each branch that leads somewhere else."""

from collections.abc import Callable, Sequence

import numpy as np

from headlight.plots.text import chance_words, quoted, signed
from transformer.decoding.beam import Outcome
from transformer.decoding.search_tree import Branch, way_to

_LOOKS = {Outcome.FELL_OUT: "dropped", Outcome.ENDED: "ended", Outcome.OPEN: ""}


def tree_payload(
    branches: Sequence[Branch],
    reads: Sequence[Sequence[float]],
    source: Sequence[str],
    reader: str,
    name: Callable[[int], str],
) -> dict:
    """What `browser.beam_tree` shows, ready for JSON; the best continuation of a branch comes first.

    reads: for each branch the cross-attention weights of its last step over the `source`; `reader` says whose they are;
    `name` turns an id into the token's text.
    """
    order = _ordered(branches)
    numbers = {branch: place for place, branch in enumerate(order)}
    rows, best = _rows(branches), set(way_to(tuple(branches), winner(branches)))
    drawn = []
    for number in order:
        branch = branches[number]
        chance = np.exp(branch.log_probability - _before(branches, branch))
        look = f"{'best ' if number in best else ''}{_LOOKS.get(branch.outcome, '')}".strip()
        drawn.append(
            {
                "parent": numbers.get(branch.parent, -1),
                "step": len(branch.ids) - 1,
                "row": rows[number],
                "token": name(branch.ids[-1]),
                "note": str(branch.rank) if branch.rank else "",
                "ids": ".".join(map(str, branch.ids)),
                "chance": round(float(min(1.0, chance)), 4),
                "log_probability": round(float(branch.log_probability), 4),
                "look": look,
                "words": branch_words(branch, chance, name),
                "reads": [round(float(weight), 4) for weight in reads[number]],
            }
        )
    return {"branches": drawn, "source": list(source), "reader": reader}


def winner(branches: Sequence[Branch]) -> int:
    """The number of the branch that ended with the best score; of a search in which none ended, of its first."""
    return next((number for number, branch in enumerate(branches) if branch.rank == 1), 0)


def branch_words(branch: Branch, chance: float, name: Callable[[int], str]) -> str:
    """What a branch is: its token's probability, log P of all its tokens, its place, and what became of it."""
    text = (
        f"{quoted(name(branch.ids[-1]))}, step {len(branch.ids)}: {chance_words(float(min(1.0, chance)))} after what "
        f"came before; log P of all so far {signed(branch.log_probability, 2)}"
    )
    if branch.place:
        text += f", place {branch.place} in the beam"
    match branch.outcome:
        case Outcome.ENDED:
            return f"{text}. It ended, rank {branch.rank} with the score {signed(branch.score, 2)}."
        case Outcome.FELL_OUT:
            return f"{text}. None of its continuations was kept."
        case Outcome.OPEN:
            return f"{text}. Unfinished when the search stopped."
    return f"{text}."


def _before(branches: Sequence[Branch], branch: Branch) -> float:
    return branches[branch.parent].log_probability if branch.parent >= 0 else 0.0


def _children(branches: Sequence[Branch], parent: int) -> list[int]:
    """The continuations of a branch, those on the way to the best first, then by log P."""
    best = set(way_to(tuple(branches), winner(branches)))
    found = [number for number, branch in enumerate(branches) if branch.parent == parent]
    return sorted(found, key=lambda number: (number not in best, -branches[number].log_probability))


def _ordered(branches: Sequence[Branch]) -> list[int]:
    """All branches, each before its continuations."""
    order, waiting = [], _children(branches, -1)[::-1]
    while waiting:
        number = waiting.pop()
        order.append(number)
        waiting.extend(_children(branches, number)[::-1])
    return order


def _rows(branches: Sequence[Branch]) -> dict[int, int]:
    """The row of each branch: its first continuation's is its own, every other begins a new one."""
    rows: dict[int, int] = {}
    free = 0
    for number in _ordered(branches):
        parent = branches[number].parent
        first = _children(branches, parent)[0] == number
        if parent >= 0 and first:
            rows[number] = rows[parent]
        else:
            rows[number] = free
            free += 1
    return rows
