"""Scaled dot-product attention, multi-head attention, its masks, and its cache for decoding (paper, 3.2)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .products import Linear


def attention_scores(query: Tensor, key: Tensor) -> Tensor:
    """Q K^T / sqrt(d_k), unmasked (paper, eq. 1): [..., queries, d_k], [..., keys, d_k] -> [..., queries, keys]."""
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) over the keys (paper, eq. 1).

    query: [..., queries, d_k], key: [..., keys, d_k], mask: broadcastable to [..., queries, keys], True = may attend.
    Rows sum to 1 and masked cells are exactly 0; a row whose every key is masked is all 0, as it is in PyTorch's
    fused kernel, which returns a zero vector for it.
    """
    scores = attention_scores(query, key)
    if mask is None:
        return scores.softmax(dim=-1)
    return scores.masked_fill(~mask, -math.inf).softmax(dim=-1).masked_fill(~mask, 0.0)


class ScaledDotProductAttention(nn.Module):
    """softmax(Q K^T / sqrt(d_k)) V (paper, eq. 1), in one fused kernel that never shows its weights.

    It is a module of its own, without parameters, so that a forward hook sees query, key, value and mask:
    an observer recomputes the weights from them with `attention_weights`, and an unobserved run pays nothing.
    """

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """query: [batch, heads, queries, d_k], key and value: [batch, heads, keys, d_k] -> like query."""
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each on its own projection of the input (paper, 3.2.2).

    W_Q, W_K and W_V stand under one another in `query_key_value.weight` [3 d_model, d_model]; head h owns the rows
    h d_k to (h + 1) d_k of each. One matrix product then projects all three, which a CPU does faster than three.
    Raises ValueError when `num_heads` does not divide `d_model`.
    """

    def __init__(self, d_model: int, num_heads: int):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"num_heads must divide d_model, got d_model={d_model} and num_heads={num_heads}")
        self.num_heads = num_heads
        self.d_model = d_model
        self.query_key_value = Linear(d_model, 3 * d_model)
        self.core = ScaledDotProductAttention()
        self.output = Linear(d_model, d_model)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Query, key and value of one sequence, for self-attention: [batch, length, d_model] -> 3 x heads of it."""
        query, key, value = self.query_key_value(x).chunk(3, dim=-1)
        return self.split(query), self.split(key), self.split(value)

    def project_query(self, x: Tensor) -> Tensor:
        """Return the query alone, for cross-attention: [batch, queries, d_model] -> [batch, heads, queries, d_k]."""
        return self.split(self.query_key_value.part(x, slice(self.d_model)))

    def project_memory(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Key and value of the memory, once a sentence: [batch, keys, d_model] -> 2 x [batch, heads, keys, d_k]."""
        key, value = self.query_key_value.part(memory, slice(self.d_model, None)).chunk(2, dim=-1)
        return self.split(key), self.split(value)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """All heads' attention, concatenated, times W_O: -> [batch, queries, d_model]."""
        heads = self.core(query, key, value, mask)
        return self.output(self.merge(heads))

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attention from x to memory (self-attention when they are the same): -> [batch, queries, d_model]."""
        if x is memory:
            return self.attend(*self.project(x), mask)
        return self.attend(self.project_query(x), *self.project_memory(memory), mask)

    def split(self, x: Tensor) -> Tensor:
        """[batch, length, d_model] -> [batch, heads, length, d_k]."""
        batch, length, d_model = x.shape
        return x.view(batch, length, self.num_heads, d_model // self.num_heads).transpose(1, 2)

    def merge(self, heads: Tensor) -> Tensor:
        """[batch, heads, length, d_k] -> [batch, length, d_model], head after head."""
        return heads.transpose(1, 2).flatten(-2)

    def reset_parameters(self) -> None:
        """Xavier-uniform for W_Q, W_K, W_V and W_O, each as the [d_model, d_model] matrix it is; biases zero."""
        for block in self.query_key_value.weight.data.chunk(3):
            nn.init.xavier_uniform_(block)
        nn.init.xavier_uniform_(self.output.weight)
        torch.nn.init.zeros_(self.query_key_value.bias)
        torch.nn.init.zeros_(self.output.bias)


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Return True where a key is no padding: [batch, keys] -> [batch, 1, 1, keys], for every head and query alike."""
    return (ids != pad_id)[:, None, None, :]


def input_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Mask the decoder's input so, whose first token is never padding: Marian's models begin with <pad>."""
    real = ids != pad_id
    real[:, 0] = True
    return real[:, None, None, :]


def causal_mask(length: int, device: torch.device | str | None = None) -> Tensor:
    """Return True where a key is not later than the query: [length, length] (paper, 3.2.3: "masked" self-attention)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def target_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Combine padding and causal mask: [batch, length] -> [batch, 1, length, length]."""
    return input_mask(ids, pad_id) & causal_mask(ids.shape[1], ids.device)


class LayerCache:
    """One decoder layer's keys and values: its own tokens' (growing) and the memory's (computed once).

    `key`, `value`: [batch, heads, capacity, d_k], the first `length` positions filled;
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
        start, new = self.length, key.shape[2]
        self.length = end = start + new
        self.key.narrow(2, start, new).copy_(key)
        self.value.narrow(2, start, new).copy_(value)
        return self.key.narrow(2, 0, end), self.value.narrow(2, 0, end)

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
