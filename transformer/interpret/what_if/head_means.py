"""The mean output of each head over a corpus, which mean ablation puts in the place of a head's own."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ...data.batching import Example, Examples, epoch_batches
from ...model.names import AttentionKind
from ...model.transformer import Transformer
from ..activations import record

_TOKENS_A_BATCH = 2048


@dataclass(frozen=True, eq=False)
class HeadMeans:
    """Each head's output, before W_O, averaged over all tokens of a corpus: [layers, heads, d_k] a kind."""

    encoder: Tensor
    decoder: Tensor
    cross: Tensor

    def of(self, kind: AttentionKind | str) -> Tensor:
        """The means of a kind; raises ValueError for another."""
        return getattr(self, AttentionKind(kind))


def measure_means(model: Transformer, examples: Examples) -> HeadMeans:
    """The means over sentence pairs, their targets teacher-forced; padding and rows of forced tokens do not count.

    Raises ValueError without any example.
    """
    if not examples:
        raise ValueError("at least one sentence pair expected")
    sums: dict[AttentionKind, Tensor | float] = dict.fromkeys(AttentionKind, 0.0)
    counts = dict.fromkeys(AttentionKind, 0)
    for batch in epoch_batches(examples, _TOKENS_A_BATCH, 0.0, model.config.max_length, seed=0):
        seen = record(model, [each.source for each in batch], [each.target[:-1] for each in batch])
        for kind in AttentionKind:
            # layers batch heads queries d_k
            outputs = torch.stack([core.output.cpu() for core in seen.attention(kind)])
            rows = [_counted_rows(model, kind, each) for each in batch]
            counted = torch.tensor([[row in some for row in range(outputs.shape[3])] for some in rows])
            sums[kind] = sums[kind] + torch.einsum("lbhqd,bq->lhd", outputs.double(), counted.double())
            counts[kind] += int(counted.sum())
    return HeadMeans(**{kind.value: (sums[kind] / counts[kind]).float() for kind in AttentionKind})  # type: ignore[union-attr]


def _counted_rows(model: Transformer, kind: AttentionKind, example: Example) -> range:
    """The rows that count: tokens of the source, or steps of the target whose token is not forced."""
    if kind == AttentionKind.ENCODER:
        return range(len(example.source))
    return range(model.config.num_forced, len(example.target) - 1)
