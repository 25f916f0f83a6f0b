"""What becomes of a row of attention whose every key is masked, by the three ways in use; computed, not told."""

import math
from dataclasses import dataclass

import torch
from torch.nn import functional as F


@dataclass(frozen=True)
class ClosedRow:
    """The weights of such a row: with -inf before softmax, with -1e9 in place of the scores, and as PyTorch's fused
    kernel must have had them, told from what it gives for the identity as values."""

    with_infinity: tuple[float, ...]
    with_large_number: tuple[float, ...]
    fused: tuple[float, ...]


def closed_row(scores: list[float]) -> ClosedRow:
    """Compute all three for a row of scores, in float32."""
    row = torch.tensor(scores)
    closed = torch.zeros(len(scores), dtype=torch.bool)
    query, keys = torch.ones(1, 1), row[:, None]  # one dimension: query times key is the score itself
    fused = F.scaled_dot_product_attention(
        query[None, None], keys[None, None], torch.eye(len(scores))[None, None], closed[None]
    )
    return ClosedRow(
        tuple(row.masked_fill(~closed, -math.inf).softmax(dim=-1).tolist()),
        tuple(row.masked_fill(~closed, -1e9).softmax(dim=-1).tolist()),
        tuple(fused[0, 0, 0].tolist()),
    )
