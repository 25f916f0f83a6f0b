"""One pass over a whole target beside as many steps as it has tokens: the same logits, another time."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ..model.attention import causal_mask
from ..model.transformer import Transformer

_ROUNDS = 5


@dataclass(frozen=True)
class Passes:
    """Seconds of each round, both ways taken in turns, and the largest difference between their logits."""

    parallel: tuple[float, ...]
    stepwise: tuple[float, ...]
    difference: float


@torch.inference_mode()
def measure_passes(model: Transformer, source: Sequence[int], fed: Sequence[int]) -> Passes:
    """Compute the logits of every target row in one pass, and step by step with cached keys and values.

    source: ids ending with end of sentence; fed: ids beginning with begin of sentence. The encoder is not counted.
    """
    memory = model.encode(torch.tensor([list(source)], device=model.device), None)
    target = torch.tensor([list(fed)], device=model.device)
    at_once(model, target, memory), step_by_step(model, target, memory)  # not counted: what is done once
    parallel, stepwise = [], []
    for _ in range(_ROUNDS):
        together = _timed(parallel, lambda: at_once(model, target, memory))
        one_by_one = _timed(stepwise, lambda: step_by_step(model, target, memory))
    return Passes(tuple(parallel), tuple(stepwise), (together - one_by_one).abs().max().item())


def at_once(model: Transformer, target: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
    """[1, target] and the memory -> logits [target, vocab], as in training."""
    return model.generator(model.decode(target, memory, causal_mask(target.shape[1], model.device), None))[0]


def step_by_step(model: Transformer, target: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
    """The same logits, a token at a time, as in decoding."""
    caches = model.start_caches(memory, target.shape[1])
    return torch.cat([model.step(target[:, place : place + 1], caches, None) for place in range(target.shape[1])])


def _timed(times: list[float], work) -> torch.Tensor:
    started = time.perf_counter()
    logits = work().cpu()  # waits for a GPU
    times.append(time.perf_counter() - started)
    return logits
