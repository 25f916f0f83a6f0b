"""Decoding token by token, each chosen from the distribution of the step: greedy, and sampling with truncation.

Beam search, which keeps several translations at once, stands in `beam`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..arrays import softmax, widened
from ..data.batching import Ids, pad
from ..model.attention import padding_mask
from ..model.fused_step import FusedStep, Step, decoding_step
from ..model.linear import padded
from ..model.transformer import Transformer

LENGTH_MARGIN = 50  # a translation may have this many tokens more than its source (paper, 6.1)


@dataclass(frozen=True)
class Greedy:
    """Always the most probable next token."""

    @property
    def label(self) -> str:
        """Its name beside a score."""
        return "greedy"


@dataclass(frozen=True)
class Sampling:
    """Draw the next token from softmax(logits / temperature), among the `top_k` most probable (0: among all).

    Raises ValueError for a temperature that is not positive or a negative top_k.
    """

    temperature: float = 1.0
    top_k: int = 0
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.temperature > 0 or self.top_k < 0:
            raise ValueError(f"temperature must be positive and top_k not negative, got {self}")


@dataclass(frozen=True)
class Hypothesis:
    """One translation as ids, end of sentence included when it was reached.

    `log_probability` is the sum of the model's own log-probabilities of these ids, in nats, but for a first one that is
    forced (`ModelConfig.num_forced`); `score` is what the search ranked by: the same sum, divided by a length
    penalty in beam search.
    """

    ids: tuple[int, ...]
    log_probability: float
    score: float
    finished: bool


class DecodingState:
    """The sentences under way: their memory's keys and values, the caches, and what has to be masked."""

    def __init__(
        self,
        model: Transformer,
        sources: Sequence[Ids],
        capacity: int,
        memory: Tensor | None = None,
        hidden: Tensor | None = None,
        stepper: Step | None = None,
    ):
        config = model.config
        source = pad(sources, config.pad_id, model.device)
        same_length = len({len(row) for row in sources}) == 1
        self.source_mask = padding = None if same_length else padding_mask(source, config.pad_id)
        if hidden is not None:
            readable = ~hidden.to(model.device)[:, None, None, :]
            self.source_mask = readable if self.source_mask is None else self.source_mask & readable
        self._model, self._step = model, stepper or decoding_step(model)
        caches = self._step.start(sources, capacity) if memory is None and isinstance(self._step, FusedStep) else None
        if caches is None:
            if memory is None:
                memory = model.encode(source, padding)
            caches = model.start_caches(memory, capacity)
        self.caches = caches
        self._rough = model.output_projection.rough_choice()

    def step(self, tokens: Tensor) -> Tensor:
        """Feed each sentence its newest token, [rows] -> logits of what follows, [rows, vocab], in float32 at least."""
        return widened(self._step(tokens, self.caches, self.source_mask))

    def choose(self, tokens: Tensor) -> Tensor:
        """Feed each sentence its newest token -> the most probable next ones, [rows], as `most_probable` has them."""
        if self._rough is None:
            return most_probable(forbid_specials(self.step(tokens), self._model))
        hidden = self._step.hidden(tokens, self.caches, self.source_mask)

        def of_all() -> Tensor:
            return most_probable(forbid_specials(self._model.output_projection(hidden), self._model))

        return self._rough.choose(hidden, self._model.config.never_chosen, of_all)

    def select(self, rows: Tensor) -> None:
        """Keep these sentences only, in this order; repeats are allowed."""
        for cache in self.caches:
            cache.select(rows)
        if self.source_mask is not None:
            self.source_mask = self.source_mask.index_select(0, rows)

    def reorder(self, rows: Tensor) -> None:
        """Exchange the decoded pasts among rows of the same sentence."""
        for cache in self.caches:
            cache.reorder(rows)


def length_limits(model: Transformer, sources: Sequence[Ids]) -> list[int]:
    """Return the most tokens each translation may have: the source's and a margin, within the model's positions."""
    return [min(len(source) + LENGTH_MARGIN, model.config.max_length) for source in sources]


def forbid_specials(scores: Tensor, model: Transformer) -> Tensor:
    """Lower padding and begin of sentence in [..., vocab] scores, in place, so that they can never be chosen."""
    for token_id in model.config.never_chosen:
        scores.select(-1, token_id).fill_(-math.inf)
    return scores


@dataclass(frozen=True)
class Companions:
    """Sentences of a batch that are looked at beside others: `more` tokens after one has ended, those of it stop.

    of: for the place of a sentence in the batch, the places of those that stop after it.
    """

    of: Mapping[int, Sequence[int]]
    more: int


@torch.inference_mode()
def decode(
    model: Transformer,
    sources: Sequence[Ids],
    strategy: Greedy | Sampling,
    prefixes: Sequence[Ids] | None = None,
    memory: Tensor | None = None,
    companions: Companions | None = None,
    hidden: Tensor | None = None,
) -> list[Hypothesis]:
    """Translate a batch, each until its end of sentence or its length limit.

    sources: ids ending with end of sentence; prefixes: ids that each translation must begin with; memory: the encoded
    sources, [batch, source, d_model], where they are already there; companions: which ends stop which others; hidden:
    True for source positions that no cross-attention may read, [batch, source].
    Raises ValueError when model and sources do not fit (see `check_batch`).
    """
    outputs, totals = _decode(model, sources, strategy, prefixes, memory, companions, hidden)
    return [
        Hypothesis(tuple(ids), total, total, ids[-1] == model.config.end_id)
        for ids, total in zip(outputs, totals, strict=True)
    ]


@torch.inference_mode()
def decode_ids(
    model: Transformer,
    sources: Sequence[Ids],
    strategy: Greedy | Sampling,
    prefixes: Sequence[Ids] | None = None,
    memory: Tensor | None = None,
    stepper: Step | None = None,
) -> list[list[int]]:
    """Decode to ids alone, without the probabilities that `decode` gives, which take a twelfth of a batch's time.

    stepper: what takes the steps, where it is to keep something of them.
    """
    return _decode(model, sources, strategy, prefixes, memory, scored=False, stepper=stepper)[0]


def _decode(
    model: Transformer,
    sources: Sequence[Ids],
    strategy: Greedy | Sampling,
    prefixes: Sequence[Ids] | None,
    memory: Tensor | None,
    companions: Companions | None = None,
    hidden: Tensor | None = None,
    *,
    scored: bool = True,
    stepper: Step | None = None,
) -> tuple[list[list[int]], list[float]]:
    """Return the ids of each translation and, where it is `scored`, its log-probability."""
    prefixes = check_batch(model, sources, prefixes)
    choose, plain = _chooser(model, strategy), isinstance(strategy, Greedy) and not scored
    limits = length_limits(model, sources)
    state = DecodingState(model, sources, max(limits), memory, hidden, stepper)
    outputs: list[list[int]] = [[] for _ in sources]
    totals = [0.0] * len(sources)
    running: list[int | None] = list(range(len(sources)))  # the sentence of each row; None once it is finished
    tokens = torch.full((len(sources),), model.config.begin_id, device=model.device)
    for step in range(max(limits)):
        log_probabilities = None
        if plain:
            chosen = state.choose(tokens)
        else:
            logits = state.step(tokens)
            log_probabilities = logits.log_softmax(dim=1) if scored else None  # of all, before some are forbidden
            chosen = choose(logits)
        tokens = _force(chosen, running, prefixes, step)
        gained = [] if log_probabilities is None else log_probabilities.gather(1, tokens[:, None])[:, 0].tolist()
        for row, token in enumerate(tokens.tolist()):
            sentence = running[row]
            if sentence is None:
                continue
            outputs[sentence].append(token)
            if scored and not is_forced(model, prefixes[sentence], step):
                totals[sentence] += gained[row]
            if token == model.config.end_id or step + 1 == limits[sentence]:
                running[row] = None
                if companions:
                    for other in companions.of.get(sentence, ()):
                        limits[other] = min(limits[other], step + 1 + companions.more)
        rows = [row for row, sentence in enumerate(running) if sentence is not None]
        if not rows:
            break
        size = padded(len(rows))
        if size < len(running):
            rows += [row for row, sentence in enumerate(running) if sentence is None][: size - len(rows)]
            selected = torch.tensor(rows, device=model.device)
            state.select(selected)
            tokens, running = tokens[selected], [running[row] for row in rows]
    return outputs, totals


def is_forced(model: Transformer, prefix: Ids, step: int) -> bool:
    """Return True where a step's token is forced on the model and in no score: a first one, such as a language."""
    return step < model.config.num_forced and len(prefix) > step


def check_batch(model: Transformer, sources: Sequence[Ids], prefixes: Sequence[Ids] | None) -> list[list[int]]:
    """Return the prefixes as lists, or empty ones; raises ValueError where sources or prefixes do not fit the model."""
    if not sources or not all(0 < len(source) <= model.config.max_length for source in sources):
        raise ValueError(f"sources must have 1 to {model.config.max_length} ids, got {[len(s) for s in sources]}")
    lists = [list(map(int, prefix)) for prefix in prefixes] if prefixes is not None else [[] for _ in sources]
    if len(lists) != len(sources):
        raise ValueError(f"one prefix a source expected, got {len(lists)} for {len(sources)}")
    if any(len(prefix) >= limit for prefix, limit in zip(lists, length_limits(model, sources), strict=True)):
        raise ValueError("a prefix is as long as its translation may become")
    return lists


def _chooser(model: Transformer, strategy: Greedy | Sampling) -> Callable[[Tensor], Tensor]:
    """Return the function [rows, vocab] logits -> [rows] ids of a strategy."""
    if isinstance(strategy, Greedy):
        return lambda logits: most_probable(forbid_specials(logits, model))
    generator = torch.Generator(device=model.device).manual_seed(strategy.seed)

    def draw(logits: Tensor) -> Tensor:
        logits = forbid_specials(logits, model) / strategy.temperature
        if 0 < strategy.top_k < logits.shape[-1]:
            least = logits.topk(strategy.top_k, dim=-1).values[:, -1:]
            logits = logits.masked_fill(logits < least, -math.inf)
        return torch.multinomial(logits.softmax(dim=-1), 1, generator=generator)[:, 0]

    return draw


def most_probable(scores: Tensor) -> Tensor:
    """Find the first of the greatest in each row: [rows, vocab] -> [rows]. NumPy is five times as fast on a CPU."""
    if scores.device.type != "cpu" or scores.dtype != torch.float32:
        return scores.argmax(dim=-1)
    return torch.from_numpy(scores.numpy().argmax(axis=-1))


def _force(tokens: Tensor, running: list[int | None], prefixes: list[list[int]], step: int) -> Tensor:
    """Return the chosen tokens, replaced by the prefix where a sentence is still within it."""
    for row, sentence in enumerate(running):
        if sentence is not None and step < len(prefixes[sentence]):
            tokens[row] = prefixes[sentence][step]
    return tokens


@dataclass(frozen=True, eq=False)
class Truncation:
    """One step's distribution as sampling draws from it. All arrays are [vocab], by id, and probabilities sum to 1.

    plain: softmax of the logits; scaled: softmax of the logits / temperature; retained: True where a token may still be
    drawn; final: scaled, 0 where not retained, divided by its sum. `order` has the ids by falling logit, `forbidden`
    those that are never drawn.
    """

    logits: np.ndarray
    plain: np.ndarray
    scaled: np.ndarray
    retained: np.ndarray
    final: np.ndarray
    order: np.ndarray
    forbidden: tuple[int, ...] = ()


def truncate(
    logits: np.ndarray, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, forbidden: Sequence[int] = ()
) -> Truncation:
    """Divide by the temperature, keep the `top_k` best (0: all), then of these the fewest that hold `top_p` of them.

    That order is the one of Hugging Face's `generate`; top-p is Holtzman et al. 2020's nucleus sampling. `forbidden`
    ids are left out before; the best other token always stays. Raises ValueError for a temperature or top_p that is not
    positive, a top_p above 1, or a negative top_k.
    """
    if not temperature > 0 or top_k < 0 or not 0 < top_p <= 1:
        raise ValueError(f"cannot truncate with temperature={temperature}, top_k={top_k}, top_p={top_p}")
    logits = np.asarray(logits, dtype=np.float64)
    plain, scaled = softmax(logits), softmax(logits / temperature)
    order = np.argsort(-logits, kind="stable")
    allowed = order[~np.isin(order, list(forbidden))]
    retained = np.zeros(logits.shape, dtype=bool)
    retained[allowed[: top_k or len(allowed)]] = True
    if top_p < 1:
        among = np.where(retained, scaled, 0.0)[allowed] / scaled[retained].sum()
        before = np.cumsum(among) - among  # the mass of all better ones
        retained[allowed[before >= top_p]] = False
    final = np.where(retained, scaled, 0.0)
    return Truncation(logits, plain, scaled, retained, final / final.sum(), order, tuple(forbidden))
