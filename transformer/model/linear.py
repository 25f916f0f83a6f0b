"""A linear map that multiplies by copies of its weight: more than twice as fast on a CPU without gradients.

PyTorch rearranges the matrix for each product, and multiplies one row on one thread. On two threads of an EPYC,
1024 x 256 with 1, 4, 16, 64 and 640 rows takes 9, 19, 32, 79 and 680 microseconds instead of 15, 43, 65, 171 and 1,490.
While it is trained, when copies would be out of date at once, oneDNN multiplies by the weight itself (`products`).
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .products import learned_product, onednn_product
from .rough_choice import RoughChoice

_MOST_PARTS = 8  # threads that share the product with a single row


class Linear(nn.Linear):
    """x W^T + b, W [out, in]. W itself stays as it is, and copies of it are kept for as long as it does not change.

    PyTorch counts changes, but for those through `weight.data` or a NumPy view of it: who makes one after the first use
    calls `learned`.
    """

    most_copied = 2_000_000  # values, 8 MB: a model with larger layers is not to take twice the memory
    _copies: "_Copies | None" = None

    def forward(self, x: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        return self.product()(x)

    def product(self, first: int = 0, last: int | None = None) -> Callable[[Tensor], Tensor]:
        """Return the map to outputs `first` to `last` alone, [..., in] -> [..., last - first], as the weight is now."""
        copies, last = self.copies(), self.out_features if last is None else last
        if copies is not None:
            return copies.part(first, last).multiply
        weight, bias = self.weight[first:last], None if self.bias is None else self.bias[first:last]
        multiply = learned_product if self.training and torch.is_grad_enabled() else F.linear
        return lambda x: multiply(x, weight, bias)

    def learned(self) -> tuple[Tensor, Tensor | None]:
        """Weight and bias for an update, which may follow unnoticed: no copies are kept."""
        self._copies = None
        return self.weight, self.bias

    def copies(self) -> "_Copies | None":
        """Return copies that are up to date, None where there may be none."""
        weight = self.weight
        # With gradients an update may follow, which a fused optimizer does not count, as a weight made in inference
        # mode counts none; and copies of a weight before it was moved would be kept in memory.
        elsewhere = weight.device.type != "cpu" or weight.dtype != torch.float32
        if torch.is_grad_enabled() or elsewhere or weight.is_inference():
            self._copies = None
            return None
        if weight.numel() > self.most_copied or onednn_product is None:
            return None
        # Assigned whole, so that threads which race for it get one that is right.
        copies = self._copies
        if copies is None or copies.state != _state(weight, self.bias):
            self._copies = copies = _Copies(weight, self.bias)
        return copies

    def __getstate__(self) -> dict[str, Any]:
        """All but the copies, which are made anew: one of them cannot be copied by Python."""
        return {**super().__getstate__(), "_copies": None}


class _Copies:
    """Copies of a weight and a bias, each made when it is first needed."""

    def __init__(self, weight: Tensor, bias: Tensor | None):
        self.weight, self.bias = weight.detach(), None if bias is None else bias.detach()
        self.state = _state(weight, bias)
        self._parts: dict[tuple[int, int], _Part] = {}

    @cached_property
    def rough(self) -> RoughChoice:
        """W in 8 bits."""
        return RoughChoice(self.weight)

    def part(self, first: int, last: int) -> "_Part":
        """Return the rows of W from `first` to `last`."""
        if (first, last) not in self._parts:
            bias = None if self.bias is None else self.bias[first:last]
            self._parts[first, last] = _Part(self.weight[first:last], bias)
        return self._parts[first, last]


def _state(*tensors: Tensor | None) -> list[tuple[int, int]]:
    return [(each.data_ptr(), each._version) for each in tensors if each is not None]  # differs once one has changed


class _Part:
    def __init__(self, weight: Tensor, bias: Tensor | None):
        self._weight, self._bias, size = weight, bias, len(weight)
        self._threads = max(n for n in range(1, 1 + min(_MOST_PARTS, torch.get_num_threads())) if size % n == 0)
        self._spread_bias = (weight.new_zeros(size) if bias is None else bias).view(self._threads, 1, -1)

    def multiply(self, x: Tensor) -> Tensor:
        """x [..., in] W^T plus the bias, [..., out]."""
        rows = x.shape[:-1].numel()
        if rows == 0 or x.dtype != torch.float32 or x.dim() > 3:
            return F.linear(x, self._weight, self._bias)
        if rows == 1:
            same = x.expand(self._threads, 1, x.shape[-1])
            return torch.baddbmm(self._spread_bias, same, self._columns).view(*x.shape[:-1], -1)
        x_rows, more = x.reshape(rows, -1), padded(rows) - rows
        if more:
            x_rows = F.pad(x_rows, (0, 0, 0, more))
        y: Tensor = onednn_product(x_rows, self._blocks, self._bias, "none", [], "")  # type: ignore[misc]
        return y[:rows].view(*x.shape[:-1], -1)

    @cached_property
    def _columns(self) -> Tensor:
        """W^T, as many outputs side by side as a thread computes: [threads, in, out / threads]."""
        return self._weight.view(self._threads, -1, self._weight.shape[1]).transpose(1, 2).contiguous()

    @cached_property
    def _blocks(self) -> Tensor:
        return torch.ops.mkldnn._reorder_linear_weight(self._weight.contiguous())  # as oneDNN reads it


def padded(rows: int) -> int:
    """Round up to one of a few numbers of rows: oneDNN compiles a program for each, of up to half a megabyte."""
    step = 1 if rows == 1 else 4 if rows <= 16 else max(16, 2 ** (rows - 1).bit_length() // 8)
    return -(-rows // step) * step
