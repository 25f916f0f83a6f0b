"""Keys and values of what has been decoded so far, so that each step computes one new row only."""

import torch
from torch import Tensor


class LayerCache:
    """One decoder layer's keys and values: its own tokens' (growing) and the memory's (computed once).

    `key`, `value`: [batch, heads, capacity, d_k], the first `length` places filled;
    `memory_key`, `memory_value`: [batch, heads, source, d_k].
    """

    def __init__(self, memory_key: Tensor, memory_value: Tensor, capacity: int):
        batch, heads, _, d_k = memory_key.shape
        self.memory_key, self.memory_value = memory_key, memory_value
        self.key = memory_key.new_empty(batch, heads, capacity, d_k)
        self.value = torch.empty_like(self.key)
        self.length = 0

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add [batch, heads, new, d_k] of both and return views of all so far, [batch, heads, length, d_k]."""
        end = self.length + key.shape[2]
        self.key[:, :, self.length : end] = key
        self.value[:, :, self.length : end] = value
        self.length = end
        return self.key[:, :, :end], self.value[:, :, :end]

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order (a row may be repeated or left out)."""
        self.key = self._select_filled(self.key, rows)
        self.value = self._select_filled(self.value, rows)
        self.memory_key = self.memory_key.index_select(0, rows)
        self.memory_value = self.memory_value.index_select(0, rows)

    def reorder(self, rows: Tensor) -> None:
        """Like `select` when every row stays with its own sentence: the memory's need not move."""
        self.key = self._select_filled(self.key, rows)
        self.value = self._select_filled(self.value, rows)

    def _select_filled(self, stored: Tensor, rows: Tensor) -> Tensor:
        selected = stored.new_empty(len(rows), *stored.shape[1:])
        torch.index_select(stored[:, :, : self.length], 0, rows, out=selected[:, :, : self.length])
        return selected
