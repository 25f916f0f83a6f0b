"""Output projection and smoothed cross-entropy in one: the logits of a whole batch never exist at once.

For 2,400 positions and 12,000 pieces the logits are 115 MB, and PyTorch makes them, their log-softmax, two gradients
that are added, and the gradient of the logits. Here each block of positions goes all the way to its loss and gradients
while it lies in the processor's cache. Positions of padding are left out.
"""

from typing import Any

import torch
from torch import Tensor

from ..model.products import multiply, weight_gradient

_POSITIONS_AT_ONCE = 512


def projected_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, target: Tensor, pad_id: int, smoothing: float
) -> Tensor:
    """`smoothed_cross_entropy` of the logits hidden W^T + b, with the gradients computed in the same pass.

    hidden: [batch, target, d_model], weight: [vocab, d_model], bias: [vocab], target: [batch, target] -> scalar.
    """
    real = (target != pad_id).flatten().nonzero().squeeze(1)
    rows = hidden.flatten(0, 1).index_select(0, real)
    return _ProjectedCrossEntropy.apply(rows, weight, bias, target.flatten()[real], smoothing)


class _ProjectedCrossEntropy(torch.autograd.Function):
    """rows: [positions, d_model], target: [positions]."""

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None, target: Tensor, smoothing: float
    ) -> Tensor:
        total, for_rows = rows.new_zeros(()), torch.empty_like(rows)
        for_weight = torch.zeros_like(weight.t(), memory_format=torch.contiguous_format).t()  # as its parts are
        for_bias = None if bias is None else torch.zeros_like(bias)
        for start in range(0, len(rows), _POSITIONS_AT_ONCE):
            block = slice(start, start + _POSITIONS_AT_ONCE)
            loss, gradient = _loss_and_gradient(multiply(rows[block], weight, bias), target[block], smoothing)
            total += loss
            for_rows[block] = multiply(gradient, weight.t())
            for_weight += weight_gradient(rows[block], gradient)
            if for_bias is not None:
                for_bias += gradient.sum(0)
        ctx.save_for_backward(for_rows, for_weight, for_bias)
        return total

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        gradients = (None if each is None else each.mul_(outer) for each in ctx.saved_tensors)
        return *gradients, None, None


def _loss_and_gradient(logits: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Return the summed loss, and its gradient by the logits [positions, vocab]: softmax minus the smoothed target."""
    spread = smoothing / logits.shape[1]
    log_p = logits.log_softmax(dim=-1)
    right = target[:, None]
    loss = (smoothing - 1) * log_p.gather(1, right).sum() - spread * log_p.sum()
    gradient = log_p.exp_().sub_(spread)
    gradient.scatter_add_(1, right, gradient.new_full(right.shape, smoothing - 1))
    return loss, gradient
