"""The parallel pass over a whole target against cached decoding step by step: the same logits, in different times."""

import time
from dataclasses import dataclass

import torch

from ..data.batching import Ids
from ..model.attention import causal_mask
from ..model.transformer import Transformer

_ROUNDS = 5


@dataclass(frozen=True)
class Comparison:
    """Seconds of each round, both ways in turns, and the largest difference between their logits."""

    parallel: tuple[float, ...]
    cached: tuple[float, ...]
    difference: float


@torch.inference_mode()
def compare_parallel_and_cached(model: Transformer, source: Ids, decoder_input: Ids) -> Comparison:
    """Compute the logits of every target row in one pass, and step by step with cached keys and values.

    source: ids ending with end of sentence; decoder_input: ids beginning with begin of sentence. The encoder
    is not counted.
    """
    memory = model.encode(torch.tensor([list(source)], device=model.device), None)
    target = torch.tensor([list(decoder_input)], device=model.device)
    at_once(model, target, memory), step_by_step(model, target, memory)  # not counted: what is done once
    parallel, cached = list[float](), list[float]()
    for _ in range(_ROUNDS):
        at_once_logits = _timed(parallel, lambda: at_once(model, target, memory))
        stepwise_logits = _timed(cached, lambda: step_by_step(model, target, memory))
    return Comparison(tuple(parallel), tuple(cached), (at_once_logits - stepwise_logits).abs().max().item())


def at_once(model: Transformer, target: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
    """[1, target] and the memory -> logits [target, vocab], as in training."""
    return model.output_projection(model.decode(target, memory, causal_mask(target.shape[1], model.device), None))[0]


def step_by_step(model: Transformer, target: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
    """The same logits, a token at a time, as in decoding."""
    caches = model.start_caches(memory, target.shape[1])
    return torch.cat([model.step(target[:, step : step + 1], caches, None) for step in range(target.shape[1])])


def _timed(times: list[float], work) -> torch.Tensor:
    started = time.perf_counter()
    logits = work().cpu()  # waits for a GPU
    times.append(time.perf_counter() - started)
    return logits
