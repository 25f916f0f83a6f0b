"""Masks: which query may attend to which key. Boolean, True = may attend."""

import torch
from torch import Tensor


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """True where a key is a real token: [batch, keys] -> [batch, 1, 1, keys], the same for every head and query."""
    return (ids != pad_id)[:, None, None, :]


def causal_mask(length: int, device: torch.device | str | None = None) -> Tensor:
    """True where the key is not later than the query: [length, length] (paper, 3.2.3: "masked" self-attention)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def target_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Padding and causal mask together: [batch, length] -> [batch, 1, length, length]."""
    return padding_mask(ids, pad_id) & causal_mask(ids.shape[1], ids.device)
