"""What logits say of the next token: the most probable ones, and the probability and rank of a given one."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..arrays import to_array


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions at some positions, [...], such as [target] or [layers, target]. Arrays are read-only.

    best_ids, best_probabilities: [..., count], most probable first; probabilities and ranks (1 = most probable) of the
    target tokens, and entropies in nats: [...].
    """

    best_ids: np.ndarray
    best_probabilities: np.ndarray
    probabilities: np.ndarray
    ranks: np.ndarray
    entropies: np.ndarray


@torch.inference_mode()
def predict(logits: Tensor, target_ids: Tensor, count: int) -> Predictions:
    """Read `logits` [..., vocab] and the ids that follow, broadcastable to [...]; keep `count` candidates each."""
    log_probabilities = logits.log_softmax(dim=-1)
    probabilities = log_probabilities.exp()
    best = probabilities.topk(min(count, logits.shape[-1]), dim=-1)
    chosen = probabilities.gather(-1, target_ids.expand(logits.shape[:-1])[..., None])
    return Predictions(
        best_ids=to_array(best.indices),
        best_probabilities=to_array(best.values),
        probabilities=to_array(chosen[..., 0]),
        ranks=to_array((probabilities > chosen).sum(dim=-1) + 1),
        entropies=to_array(-(probabilities * log_probabilities).sum(dim=-1)),
    )
