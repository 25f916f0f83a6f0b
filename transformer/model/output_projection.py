"""The output projection: the widest product of a decoding step, and on a CPU the one that takes longest."""

from functools import cached_property

import torch
from torch import Tensor, nn
from torch.nn import functional as F

# Of how many values copies are kept: 256 MB each. A gigabyte beside the 2.4 of NLLB-600M (256,206 x 1,024) is too much.
_MOST_COPIED = 64_000_000
_ROWS_AT_ONCE = 16  # oneDNN compiles a program for each number of rows, of half a megabyte
_MOST_ROWS = 256  # with more, PyTorch's own product is as fast
# What PyTorch's own compiler calls for a linear map whose weight is known; a build without oneDNN does not have it.
_product = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if torch.backends.mkldnn.is_available() else None


class OutputProjection(nn.Linear):
    """x W^T, W [vocab, d_model] (paper, 3.4), plus a bias where a model has one.

    On a CPU, PyTorch rearranges the whole matrix for each product with a few rows. The weight must stay as it is where
    it is shared with the embeddings, so copies that have been rearranged once are kept for as long as it does not
    change, unless they were too large. On one thread of an EPYC with AVX-512, 12,000 x 256 with 1, 4, 12 and 40 rows
    takes 0.3, 0.3, 0.8 and 3.0 ms instead of 0.7, 2.3, 2.7 and 4.4.
    """

    def __init__(self, d_model: int, vocab_size: int, bias: bool = False):
        super().__init__(d_model, vocab_size, bias=bias)
        self._copies: _Copies | None = None

    def forward(self, x: Tensor) -> Tensor:
        """[..., d_model] -> [..., vocab]."""
        if torch.is_grad_enabled():
            self._copies = None  # an update may follow, and a fused optimizer changes weights without counting it
        elif self._may_be_copied() and 0 < x.shape[:-1].numel() <= _MOST_ROWS:
            return self._up_to_date().multiply(x, self.bias)
        return super().forward(x)

    def __getstate__(self) -> dict:
        """All but the copies, which are made anew: one of them cannot be copied by Python."""
        return {**super().__getstate__(), "_copies": None}

    def _may_be_copied(self) -> bool:
        # A weight made in inference mode does not count its changes, so a copy of it could grow stale.
        weight = self.weight
        return weight.device.type == "cpu" and weight.numel() <= _MOST_COPIED and not weight.is_inference()

    def _up_to_date(self) -> "_Copies":
        # Assigned whole, so that threads which race for it get one that is right.
        copies = self._copies
        if copies is None or not copies.are_of(self.weight):
            self._copies = copies = _Copies(self.weight)
        return copies


class _Copies:
    """A weight [vocab, d_model] in other arrangements, each made when it is first needed."""

    def __init__(self, weight: Tensor):
        self._weight, self._state = weight.detach(), (weight.data_ptr(), weight._version)

    def are_of(self, weight: Tensor) -> bool:
        """Whether the weight is still the one they were made of."""
        return self._state == (weight.data_ptr(), weight._version)

    def multiply(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """x [..., d_model] W^T plus the bias, [..., vocab]."""
        rows = x.reshape(-1, x.shape[-1])
        if len(rows) == 1 or _product is None or x.dtype != torch.float32:  # a single row is faster without oneDNN
            return F.linear(x, self._columns.t(), bias)
        parts = [_product(each, self._blocks, bias, "none", [], "") for each in rows.split(_ROWS_AT_ONCE)]
        return (torch.cat(parts) if len(parts) > 1 else parts[0]).view(*x.shape[:-1], -1)

    @cached_property
    def _columns(self) -> Tensor:
        """W^T, [d_model, vocab] in memory."""
        return self._weight.t().contiguous()

    @cached_property
    def _blocks(self) -> Tensor:
        """W in the blocks in which oneDNN reads it."""
        return torch.ops.mkldnn._reorder_linear_weight(self._weight)
