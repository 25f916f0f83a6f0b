"""What becomes of a row of attention whose every key is masked, by the three ways in use."""

import math
from dataclasses import dataclass

import torch
from torch.nn import functional as F


@dataclass(frozen=True)
class FullyMaskedRow:
    """The weights of such a row: with -inf before softmax, with -1e9 in place of the scores, and as PyTorch's fused
    kernel has them, read from its output for the identity as values."""

    with_infinity: tuple[float, ...]
    with_large_number: tuple[float, ...]
    fused: tuple[float, ...]


def fully_masked_row(scores: list[float]) -> FullyMaskedRow:
    """Compute all three for a row of scores, in float32."""
    row = torch.tensor(scores)
    mask = torch.zeros(len(scores), dtype=torch.bool)
    query, keys = torch.ones(1, 1), row[:, None]  # one dimension: query times key is the score itself
    values = torch.eye(len(scores))
    fused = F.scaled_dot_product_attention(query[None, None], keys[None, None], values[None, None], mask[None])[0, 0, 0]
    return FullyMaskedRow(
        with_infinity=tuple(row.masked_fill(~mask, -math.inf).softmax(dim=-1).tolist()),
        with_large_number=tuple(row.masked_fill(~mask, -1e9).softmax(dim=-1).tolist()),
        fused=tuple(fused.tolist()),
    )
