"""The training loss: cross-entropy against a smoothed target."""

from torch import Tensor
from torch.nn import functional as F


def smoothed_cross_entropy(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    """Cross-entropy in nats against the smoothed target (paper, 5.4), summed over all tokens that are not padding.

    logits: [batch, target, vocab], target: [batch, target] -> scalar. The mass `smoothing` is spread over all classes
    (Szegedy et al. 2016, eq. 3), so the target keeps 1 - smoothing + smoothing / vocab.
    """
    return F.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=pad_id, label_smoothing=smoothing, reduction="sum"
    )
