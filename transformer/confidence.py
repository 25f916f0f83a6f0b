"""How sure a model is of its next tokens on held-out pairs, and how often it is right: the mark of label smoothing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from .data import Example, collate, epoch_batches
from .model import Transformer
from .trace import read_only

_BATCH_TOKENS = 2048


@dataclass(frozen=True, eq=False)
class Confidence:
    """One entry a target token, teacher-forced: the probability of the best token, whether it is the reference's, and
    the probability of the reference's token. Arrays are read-only: [tokens]."""

    best: np.ndarray
    right: np.ndarray
    reference: np.ndarray

    def calibration(self, bins: int = 10) -> list[tuple[float, float, int]]:
        """Tokens by the probability of the best: mean probability, share right, number; no empty bins."""
        places = np.minimum((self.best * bins).astype(int), bins - 1)
        chosen = [own for own in (places == place for place in range(bins)) if own.any()]
        return [(float(self.best[own].mean()), float(self.right[own].mean()), int(own.sum())) for own in chosen]


@torch.inference_mode()
def measure_confidence(model: Transformer, examples: Sequence[Example]) -> Confidence:
    """Run all examples, teacher-forced; their order is not kept."""
    parts = []
    for batch in epoch_batches(examples, _BATCH_TOKENS, 0.0, model.config.max_length, seed=0):
        source, fed, following = (ids.to(model.device) for ids in collate(batch, model.config.pad_id))
        probabilities = model(source, fed).softmax(dim=-1)
        best = probabilities.max(dim=-1)
        real = following != model.config.pad_id
        reference = probabilities.gather(-1, following[..., None])[..., 0]
        parts.append([part[real].cpu().numpy() for part in (best.values, best.indices == following, reference)])
    return Confidence(*(read_only(np.concatenate(part)) for part in zip(*parts, strict=True)))


def together(parts: Sequence[Confidence]) -> Confidence:
    """Several measurements as one."""
    return Confidence(
        *(
            read_only(np.concatenate(arrays))
            for arrays in zip(*((p.best, p.right, p.reference) for p in parts), strict=True)
        )
    )
