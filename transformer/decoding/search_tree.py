"""A beam search as a tree: every translation that the beam held, from which one it grew, and what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from .beam import Outcome, SearchRecord


@dataclass(frozen=True)
class Branch:
    """One translation under way, or ended.

    ids: its tokens so far; parent: the number of the branch that it grew from, -1 for the first token's;
    log_probability: of all its tokens, in nats; place: in the beam after its step, from 1, None for one that ended.
    outcome: None where it went on, else how it left the search; rank, from 1, and score of one that ended.
    """

    ids: tuple[int, ...]
    parent: int
    log_probability: float
    place: int | None = None
    outcome: Outcome | None = None
    rank: int | None = None
    score: float | None = None


def search_tree(record: SearchRecord) -> tuple[Branch, ...]:
    """All branches of a recorded search, those of a step after those of the step before."""
    ended = {one.ids: (rank, one) for rank, one in enumerate(record.ended, start=1)}
    steps = max([len(record.kept), *map(len, ended)])
    numbers: dict[tuple[int, ...], int] = {}
    went_on = {ids[:-1] for kept in record.kept for ids in kept} | {ids[:-1] for ids in ended}
    branches: list[Branch] = []
    for step in range(1, steps + 1):
        here: list[tuple[tuple[int, ...], int | None]] = [(ids, None) for ids in ended if len(ids) == step]
        if step <= len(record.kept):
            here += [(ids, place) for place, ids in enumerate(record.kept[step - 1])]
        for ids, place in here:
            parent = numbers.get(ids[:-1], -1)
            if place is None:
                rank, one = ended[ids]
                branch = Branch(ids, parent, one.log_probability, None, Outcome.ENDED, rank, one.score)
            else:
                last = Outcome.OPEN if step == len(record.kept) else Outcome.FELL_OUT
                outcome = None if ids in went_on else last
                branch = Branch(ids, parent, record.log_probabilities[step - 1][place], place + 1, outcome)
            numbers[ids] = len(branches)
            branches.append(branch)
    return tuple(branches)


def best_branch(branches: Sequence[Branch]) -> int:
    """Return the number of the branch that ended with the best score; the first of a search in which none ended."""
    return next((number for number, branch in enumerate(branches) if branch.rank == 1), 0)


def path_to(branches: Sequence[Branch], number: int) -> list[int]:
    """The branches on the way to one of them, the first token's first, itself last."""
    way = []
    while number >= 0:
        way.append(number)
        number = branches[number].parent
    return way[::-1]
