"""Beam search: several translations of each sentence under way at once, the best kept."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..data.batching import Ids
from ..model.names import Name
from ..model.transformer import Transformer
from .sampling import (
    DecodingState,
    Greedy,
    Hypothesis,
    Sampling,
    check_batch,
    decode_ids,
    forbid_specials,
    is_forced,
    length_limits,
)

MOST = 1000  # translations in a beam: memory grows with it


class Penalty(Name):
    """Length penalty: the divisor of a translation's log-probability."""

    GNMT = "gnmt"
    LENGTH = "length"


@dataclass(frozen=True)
class Beam:
    """Keep the `size` best continuations at each step; those that end leave the beam, ranked by log P / penalty.

    "gnmt": ((5 + length) / 6)^alpha (Wu et al. 2016, eq. 14), with the paper's size 4 and alpha 0.6 (6.1);
    "length": length^alpha, so that alpha 1 ranks by the mean log-probability of a token.
    Raises ValueError for a size below 1 or above 1,000, a negative alpha or an unknown penalty.
    """

    size: int = 4
    alpha: float = 0.6
    penalty: Penalty = Penalty.GNMT

    def __post_init__(self) -> None:
        if not 1 <= self.size <= MOST or self.alpha < 0:
            raise ValueError(f"size must be 1 to {MOST} and alpha not negative, got {self}")
        object.__setattr__(self, "penalty", Penalty(self.penalty))

    @property
    def label(self) -> str:
        """The size, and the penalty where it is not the paper's: "beam 5", "beam 5, length^1"."""
        if (self.alpha, self.penalty) == (Beam.alpha, Beam.penalty):
            return f"beam {self.size}"
        return f"beam {self.size}, {self.penalty}^{self.alpha:g}"

    def length_penalty(self, length: int) -> float:
        """Return what the log-probability of a translation of `length` tokens is divided by."""
        return ((5 + length) / 6) ** self.alpha if self.penalty == Penalty.GNMT else length**self.alpha


class Outcome(Name):
    """End of a path in a search."""

    ENDED = "ended"
    FELL_OUT = "fell out"
    OPEN = "open"


@dataclass(frozen=True)
class PathOutcome:
    """Outcome of one path in a search.

    The path ended, `position` being its rank among all that ended; or it fell out at token `position`, where the beam
    had better ones; both count from 1. Or it was open: in the beam, unfinished, when the search stopped.
    """

    outcome: Outcome
    position: int = 0


@dataclass(frozen=True)
class SearchRecord:
    """A search of one sentence: all translations that ended, best first, and the unfinished ones kept at each step.

    ended: ranked by score, one that reached its length limit among them. beams: for each step the unfinished
    translations that were in the beam after it, as ids, most probable first. score_bounds: for each of the last beam
    the highest score that it could still have reached. log_probabilities: of all beams, step by step, in nats.
    """

    ended: tuple[Hypothesis, ...]
    beams: tuple[tuple[tuple[int, ...], ...], ...]
    score_bounds: tuple[float, ...]
    log_probabilities: tuple[tuple[float, ...], ...] = ()

    def outcome_of(self, ids: Ids) -> PathOutcome:
        """Return the outcome of the path with these ids."""
        ids = tuple(ids)
        for rank, one in enumerate(self.ended, start=1):
            if one.ids == ids:
                return PathOutcome(Outcome.ENDED, rank)
        for step, beam in enumerate(self.beams, start=1):
            if ids[:step] not in beam:
                return PathOutcome(Outcome.FELL_OUT, step)
        return PathOutcome(Outcome.OPEN)


@dataclass
class _Search:
    """One sentence's search: its unfinished translations with their log-probabilities, and its finished ones."""

    limit: int
    prefix: list[int]
    pasts: list[tuple[int, ...]]
    scores: list[float]
    ended: list[Hypothesis] = field(default_factory=list)
    beams: list[tuple[tuple[int, ...], ...]] = field(default_factory=list)
    log_probabilities: list[tuple[float, ...]] = field(default_factory=list)

    def score_bounds(self, beam: Beam) -> list[float]:
        """Return the highest score that each unfinished translation can still reach.

        Its log-probability only falls from here on, and the penalty is largest at the length limit.
        """
        return [score / beam.length_penalty(self.limit) for score in self.scores if score > -math.inf]

    def is_decided(self, beam: Beam) -> bool:
        """Return True when as many have ended as were asked for and no unfinished one can still win."""
        if len(self.ended) < beam.size:
            return False
        return max(one.score for one in self.ended) >= max(self.score_bounds(beam))


def beam_search(
    model: Transformer,
    sources: Sequence[Ids],
    beam: Beam,
    prefixes: Sequence[Ids] | None = None,
    memory: torch.Tensor | None = None,
) -> list[list[Hypothesis]]:
    """Search the translations of each sentence of the batch; return them best first, at most `beam.size` each.

    sources, prefixes and memory as in `decode`; the search as in `record_beam_search`.
    """
    records = record_beam_search(model, sources, beam, prefixes, memory)
    return [list(record.ended[: beam.size]) for record in records]


@torch.inference_mode()
def record_beam_search(
    model: Transformer,
    sources: Sequence[Ids],
    beam: Beam,
    prefixes: Sequence[Ids] | None = None,
    memory: torch.Tensor | None = None,
) -> list[SearchRecord]:
    """Search the translations of each sentence of the batch, and keep what the beam held at each step.

    sources, prefixes and memory as in `decode`. A sentence is done when at least `beam.size` translations have ended
    and none under way can still get a better score than the best of them; or at its length limit.
    """
    prefixes = check_batch(model, sources, prefixes)
    limits = length_limits(model, sources)
    size = beam.size
    state = DecodingState(model, sources, max(limits), memory)
    state.select(torch.arange(len(sources), device=model.device).repeat_interleave(size))
    # All rows of a sentence begin alike: only the first counts until they differ.
    first_scores = [0.0] + [-math.inf] * (size - 1)
    searches = [
        _Search(limit, prefix, [()] * size, list(first_scores)) for limit, prefix in zip(limits, prefixes, strict=True)
    ]
    active = list(searches)
    tokens = torch.full((len(sources) * size,), model.config.begin_id, device=model.device)
    for step in range(max(limits)):
        log_probabilities = state.step(tokens).log_softmax(dim=-1)
        best, indices = _best_candidates(log_probabilities, active, step, size, model)
        rows: list[int] = []
        remaining: list[_Search] = []
        for number, search in enumerate(active):
            origins = _advance(search, best[number], indices[number], log_probabilities.shape[-1], model, beam)
            if origins is not None:
                rows.extend(number * size + origin for origin in origins)
                remaining.append(search)
        if not remaining:
            break
        move = state.reorder if len(remaining) == len(active) else state.select
        move(torch.tensor(rows, device=model.device))
        tokens = torch.tensor([past[-1] for search in remaining for past in search.pasts], device=model.device)
        active = remaining
    return [
        SearchRecord(
            ended=tuple(sorted(search.ended, key=lambda one: -one.score)),
            beams=tuple(search.beams),
            score_bounds=tuple(search.score_bounds(beam)),
            log_probabilities=tuple(search.log_probabilities),
        )
        for search in searches
    ]


def _best_candidates(
    log_probabilities: Tensor, active: list[_Search], step: int, size: int, model: Transformer
) -> tuple[list[list[float]], list[list[int]]]:
    """Return the `size` best continuations of each sentence: their log-probabilities, and row * vocab + token."""
    scores = torch.tensor([search.scores for search in active], device=log_probabilities.device)
    totals = scores[:, :, None] + log_probabilities.view(len(active), size, -1)  # sentences beam vocab
    forced = {}
    for number, search in enumerate(active):
        if step < len(search.prefix):
            token = search.prefix[step]
            unscored = is_forced(model, search.prefix, step)
            forced[number] = token, scores[number] if unscored else totals[number, :, token].clone()
    totals = forbid_specials(totals, model)
    for number, (token, total) in forced.items():
        totals[number] = -math.inf
        totals[number, :, token] = total
    best, indices = totals.flatten(1).topk(min(size, totals[0].numel()), dim=1)
    return best.tolist(), indices.tolist()


def _advance(
    search: _Search, best: list[float], indices: list[int], vocab_size: int, model: Transformer, beam: Beam
) -> list[int] | None:
    """Take the next step of one sentence; returns the row each new past came from, or None when it is done."""
    pasts, scores, origins = [], [], []
    for total, index in zip(best, indices, strict=True):
        if total == -math.inf:
            break
        origin, token = divmod(index, vocab_size)
        past = (*search.pasts[origin], token)
        ended = token == model.config.end_id
        if ended or len(past) == search.limit:
            search.ended.append(Hypothesis(past, total, total / beam.length_penalty(len(past)), ended))
        else:
            pasts.append(past)
            scores.append(total)
            origins.append(origin)
    search.beams.append(tuple(pasts))
    search.log_probabilities.append(tuple(scores))
    missing = beam.size - len(pasts)
    search.scores = scores + [-math.inf] * missing
    if not pasts or search.is_decided(beam):
        return None
    search.pasts = pasts + [pasts[0]] * missing
    return origins + [origins[0]] * missing


def best_ids(
    model: Transformer,
    sources: Sequence[Ids],
    strategy: Greedy | Sampling | Beam,
    prefixes: Sequence[Ids] | None = None,
    memory: Tensor | None = None,
) -> list[list[int]]:
    """Return the best translation of each source, without its score, which only a beam search has to know."""
    if isinstance(strategy, Beam):
        return [list(hypotheses[0].ids) for hypotheses in beam_search(model, sources, strategy, prefixes, memory)]
    return decode_ids(model, sources, strategy, prefixes, memory)


def strategy_for(beam: int) -> Greedy | Beam:
    """Greedy for 1, beam search of that size for more; raises ValueError below 1."""
    return Greedy() if beam == 1 else Beam(size=beam)


@dataclass(frozen=True)
class Branch:
    """One translation under way, or ended.

    ids: its tokens so far; parent: the number of the branch that it grew from, -1 for the first token's;
    log_probability: of all its tokens, in nats; position: in the beam after its step, from 1, None for one that ended.
    outcome: None where it went on, else how it left the search; rank, from 1, and score of one that ended.
    """

    ids: tuple[int, ...]
    parent: int
    log_probability: float
    position: int | None = None
    outcome: Outcome | None = None
    rank: int | None = None
    score: float | None = None


def search_tree(record: SearchRecord) -> tuple[Branch, ...]:
    """Return all branches of a recorded search, ordered by step."""
    ended = {one.ids: (rank, one) for rank, one in enumerate(record.ended, start=1)}
    steps = max([len(record.beams), *map(len, ended)])
    numbers: dict[tuple[int, ...], int] = {}
    went_on = {ids[:-1] for beam in record.beams for ids in beam} | {ids[:-1] for ids in ended}
    branches: list[Branch] = []
    for step in range(1, steps + 1):
        here: list[tuple[tuple[int, ...], int | None]] = [(ids, None) for ids in ended if len(ids) == step]
        if step <= len(record.beams):
            here += [(ids, index) for index, ids in enumerate(record.beams[step - 1])]
        for ids, index in here:
            parent = numbers.get(ids[:-1], -1)
            if index is None:
                rank, one = ended[ids]
                branch = Branch(ids, parent, one.log_probability, None, Outcome.ENDED, rank, one.score)
            else:
                last = Outcome.OPEN if step == len(record.beams) else Outcome.FELL_OUT
                outcome = None if ids in went_on else last
                branch = Branch(ids, parent, record.log_probabilities[step - 1][index], index + 1, outcome)
            numbers[ids] = len(branches)
            branches.append(branch)
    return tuple(branches)


def path_to(branches: Sequence[Branch], number: int) -> list[int]:
    """Return the numbers of the branches from the first token to a branch."""
    way = []
    while number >= 0:
        way.append(number)
        number = branches[number].parent
    return way[::-1]
