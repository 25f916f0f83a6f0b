"""Beam search: several translations of each sentence under way at once, the best kept."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..data.batching import Ids
from ..model.names import Name
from ..model.transformer import Transformer
from .sampling import DecodingState, Hypothesis, check_batch, forbid_specials, length_limits


class Penalty(Name):
    """How a translation's log-probability is made independent of its length."""

    GNMT = "gnmt"
    LENGTH = "length"


@dataclass(frozen=True)
class Beam:
    """Keep the `size` best unfinished translations at each step, and rank finished ones by log P / penalty.

    "gnmt": ((5 + length) / 6)^alpha (Wu et al. 2016, eq. 14), with the paper's size 4 and alpha 0.6 (6.1);
    "length": length^alpha, so that alpha 1 ranks by the mean log-probability of a token.
    Raises ValueError for a size below 1, a negative alpha or an unknown penalty.
    """

    size: int = 4
    alpha: float = 0.6
    penalty: Penalty = Penalty.GNMT

    def __post_init__(self):
        if self.size < 1 or self.alpha < 0:
            raise ValueError(f"size must be at least 1 and alpha not negative, got {self}")
        object.__setattr__(self, "penalty", Penalty(self.penalty))

    @property
    def label(self) -> str:
        """The size, and the penalty where it is not the paper's: "beam 5", "beam 5, length^1"."""
        if (self.alpha, self.penalty) == (Beam.alpha, Beam.penalty):
            return f"beam {self.size}"
        return f"beam {self.size}, {self.penalty}^{self.alpha:g}"

    def length_penalty(self, length: int) -> float:
        """What the log-probability of a translation of `length` tokens is divided by."""
        return ((5 + length) / 6) ** self.alpha if self.penalty == Penalty.GNMT else length**self.alpha


@dataclass
class _Search:
    """One sentence's search: its unfinished translations with their log-probabilities, and its finished ones."""

    limit: int
    prefix: list[int]
    pasts: list[list[int]]
    scores: list[float]
    found: list[Hypothesis] = field(default_factory=list)


@torch.inference_mode()
def beam_search(
    model: Transformer,
    sources: Sequence[Ids],
    beam: Beam,
    prefixes: Sequence[Ids] | None = None,
    memory: torch.Tensor | None = None,
) -> list[list[Hypothesis]]:
    """For each sentence of the batch its translations found, best first, at most `beam.size` of them.

    sources, prefixes and memory as in `decode`. A sentence is done when as many translations have ended as the beam is
    wide, or at its length limit.
    """
    prefixes = check_batch(model, sources, prefixes)
    limits = length_limits(model, sources)
    size = beam.size
    state = DecodingState(model, sources, max(limits), memory)
    state.select(torch.arange(len(sources), device=model.device).repeat_interleave(size))
    # All rows of a sentence begin alike: only the first counts until they differ.
    first_scores = [0.0] + [-math.inf] * (size - 1)
    searches = [
        _Search(limit, prefix, [[] for _ in range(size)], list(first_scores))
        for limit, prefix in zip(limits, prefixes, strict=True)
    ]
    active = list(searches)
    tokens = torch.full((len(sources) * size,), model.config.begin_id, device=model.device)
    for step in range(max(limits)):
        log_probabilities = state.step(tokens).log_softmax(dim=-1)
        best, indices = _best_candidates(log_probabilities, active, step, size, model)
        rows, remaining = [], []
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
    return [sorted(search.found, key=lambda found: -found.score)[:size] for search in searches]


def _best_candidates(log_probabilities: Tensor, active: list[_Search], step: int, size: int, model: Transformer):
    """The 2 x size best continuations of each sentence: enough to fill the beam though `size` of them may end."""
    scores = torch.tensor([search.scores for search in active], device=log_probabilities.device)
    totals = scores[:, :, None] + log_probabilities.view(len(active), size, -1)  # sentences beam vocab
    forced = {
        number: (search.prefix[step], totals[number, :, search.prefix[step]].clone())
        for number, search in enumerate(active)
        if step < len(search.prefix)
    }
    totals = forbid_specials(totals, model)
    for number, (token, kept) in forced.items():
        totals[number] = -math.inf
        totals[number, :, token] = kept
    best, indices = totals.flatten(1).topk(min(2 * size, totals[0].numel()), dim=1)
    return best.tolist(), indices.tolist()


def _advance(
    search: _Search, best: list[float], indices: list[int], vocab_size: int, model: Transformer, beam: Beam
) -> list[int] | None:
    """Take the next step of one sentence; returns the row each new past came from, or None when it is done."""
    pasts, scores, origins = [], [], []
    for rank, (total, index) in enumerate(zip(best, indices, strict=True)):
        origin, token = divmod(index, vocab_size)
        if total == -math.inf or len(pasts) == beam.size:
            break
        past = [*search.pasts[origin], token]
        ended = token == model.config.end_id
        if ended and rank >= beam.size:
            continue  # below the beam: it would not have been kept
        if ended or len(past) == search.limit:
            search.found.append(Hypothesis(tuple(past), total, total / beam.length_penalty(len(past)), ended))
        else:
            pasts.append(past)
            scores.append(total)
            origins.append(origin)
    if len(search.found) >= beam.size or not pasts:
        return None
    missing = beam.size - len(pasts)
    search.pasts = pasts + [pasts[0]] * missing
    search.scores = scores + [-math.inf] * missing
    return origins + [origins[0]] * missing
