"""The output projection: from the decoder's last vector to one logit a token."""

import torch
from torch import Tensor, nn


class Generator(nn.Linear):
    """x W^T without bias, W [vocab, d_model] (paper, 3.4), the widest product of a decoding step.

    On a CPU, PyTorch multiplies a few rows with a matrix two to three times faster when it lies in memory as
    [d_model, vocab]. The weight must stay [vocab, d_model], row by row, where it is shared with the embeddings, so a
    copy in the other order is kept for as long as the weight does not change.
    """

    def __init__(self, d_model: int, vocab_size: int):
        super().__init__(d_model, vocab_size, bias=False)
        self._copy: tuple[tuple[int, int], Tensor] | None = None

    def forward(self, x: Tensor) -> Tensor:
        """[..., d_model] -> [..., vocab]."""
        # A weight made in inference mode does not count its changes, so a copy of it could grow stale.
        if x.device.type != "cpu" or self.weight.is_inference():
            return super().forward(x)
        if torch.is_grad_enabled():
            self._copy = None  # an update may follow, and a fused optimizer changes weights without counting it
            return super().forward(x)
        logits = x @ self._columns()
        return logits if self.bias is None else logits + self.bias

    def _columns(self) -> Tensor:
        """W^T, contiguous. Assigned whole, so that threads which race for it get one that is right."""
        state = (self.weight.data_ptr(), self.weight._version)
        if self._copy is None or self._copy[0] != state:
            self._copy = (state, self.weight.detach().t().contiguous())
        return self._copy[1]
