"""The products of a training on a CPU, by oneDNN.

PyTorch's products in float32 are MKL's on x86, which on an AMD processor use half the width of its arithmetic: on two
cores of an EPYC with AVX-512, 2,700 rows from 256 to 1,024 took 6.8 ms forward, and oneDNN's 3.4.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

# What PyTorch's own compiler calls for a linear map whose weight is known; a build without oneDNN does not have it.
onednn_product = torch.ops.mkldnn._linear_pointwise.default if torch.backends.mkldnn.is_available() else None

_FEWEST_PRODUCTS = 2**21  # rows x in x out; with fewer, the calls around it cost more than it saves


def learned_product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x W^T + b of a map that is trained: x [..., in], weight [out, in], bias [out] -> [..., out]."""
    return _Linear.apply(x, weight, bias) if _suits_onednn(x, weight) else F.linear(x, weight, bias)


def multiply(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b without gradients: x [..., in], weight [out, in], bias [out] -> [..., out]."""
    if _suits_onednn(x, weight):
        return onednn_product(x, weight, bias, "none", [], "")  # type: ignore[misc]
    return F.linear(x, weight, bias)


def weight_gradient(x: Tensor, gradient: Tensor) -> Tensor:
    """Return the weight's gradient, [out, in], of rows x [rows, in] and their products' gradients [rows, out].

    oneDNN is the faster the longer the rows of the result.
    """
    if x.shape[-1] > gradient.shape[-1]:
        return multiply(gradient.t(), x.t())
    return multiply(x.t(), gradient.t()).t()


def _suits_onednn(x: Tensor, weight: Tensor) -> bool:
    suits = onednn_product is not None and x.device.type == "cpu" and x.dtype == weight.dtype == torch.float32
    return suits and not torch.is_autocast_enabled("cpu") and x.numel() * len(weight) >= _FEWEST_PRODUCTS


class _Linear(torch.autograd.Function):
    """A linear map that is differentiated once."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return multiply(x, weight, bias)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        for_x, for_weight, for_bias = ctx.needs_input_grad
        rows = gradient.flatten(0, -2)
        return (
            multiply(gradient, weight.t()) if for_x else None,
            weight_gradient(x.flatten(0, -2), rows) if for_weight else None,
            rows.sum(0) if for_bias else None,
        )
