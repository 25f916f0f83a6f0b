"""Scaled dot-product attention, multi-head attention, its masks, and its cache for decoding (paper, 3.2)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .linear import Linear


def attention_scores(query: Tensor, key: Tensor, bias: Tensor | None = None, scale: float | None = None) -> Tensor:
    """Q K^T / sqrt(d_k), unmasked (paper, eq. 1): [..., queries, d_k], [..., keys, d_k] -> [..., queries, keys].

    scale: what products are multiplied by where that is not 1 / sqrt(d_k); bias: added then, where there is one.
    """
    products = query @ key.transpose(-2, -1)
    scores = products / math.sqrt(query.shape[-1]) if scale is None else products * scale
    return scores if bias is None else scores + bias


def attention_weights(
    query: Tensor, key: Tensor, mask: Tensor | None = None, bias: Tensor | None = None, scale: float | None = None
) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) over the keys (paper, eq. 1), bias and scale as for `attention_scores`.

    query: [..., queries, d_k], key: [..., keys, d_k], mask: broadcastable to [..., queries, keys], True = may attend.
    Rows sum to 1 and masked cells are exactly 0; a row whose every key is masked is all 0, as it is in PyTorch's
    fused kernel, which returns a zero vector for it.
    """
    scores = attention_scores(query, key, bias, scale)
    if mask is None:
        return scores.softmax(dim=-1)
    return scores.masked_fill(~mask, -math.inf).softmax(dim=-1).masked_fill(~mask, 0.0)


class ScaledDotProductAttention(nn.Module):
    """softmax(Q K^T / sqrt(d_k)) V (paper, eq. 1), in one fused kernel that never shows its weights.

    It is a module of its own, without parameters, so that a forward hook sees query, key, value, mask, bias and scale:
    an observer recomputes the weights from them with `attention_weights`, and an unobserved run pays nothing.
    """

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        bias: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """query: [batch, heads, queries, d_k], key and value: [batch, heads, keys, d_k] -> like query.

        bias, scale: as for `attention_scores`; bias: [1, heads, queries, keys].
        """
        if bias is not None:
            mask = bias if mask is None else bias.masked_fill(~mask, -math.inf)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)


def distance_ranges(distances: Tensor, count: int, furthest: int, *, both_ways: bool) -> Tensor:
    """Return the range that each distance, of a key from its query, belongs to: 0 to count - 1, in the same shape.

    Half of them are one distance each, the others grow by a constant factor, and the last, which has no end, begins
    where one more would begin at `furthest`: of 32 and 128, `both_ways`, at 91. With `both_ways` half of all are for
    keys before the query and half for those after it; otherwise these share the query's own. As T5 has them (Raffel et
    al. 2020, 2.1, and Mesh TensorFlow's transformer_layers.py).
    """
    first = torch.zeros_like(distances)
    if both_ways:
        count //= 2
        first = (distances > 0) * count
        distances = distances.abs()
    else:
        distances = -distances.clamp(max=0)
    exact = count // 2
    # In float32, as the models were trained with it: a distance at a border may fall to either side.
    logarithms = torch.log(distances.clamp(min=1).float() / exact) / math.log(furthest / exact)
    grown = (exact + (logarithms * (count - exact)).long()).clamp(max=count - 1)
    return first + torch.where(distances < exact, distances, grown)


class RelativePositions(nn.Module):
    """A learned number for each head and range of distances, added to the scores of all layers of a stack (T5)."""

    def __init__(self, num_heads: int, count: int, furthest: int, *, both_ways: bool):
        super().__init__()
        self.furthest, self.both_ways = furthest, both_ways
        self.table = nn.Parameter(torch.zeros(count, num_heads))

    def forward(self, queries: int, keys: int) -> Tensor:
        """Return the bias of the last `queries` of as many positions as there are keys: [1, heads, queries, keys]."""
        positions = torch.arange(keys, device=self.table.device)
        return self.of(positions - positions[keys - queries :, None])[None]

    def of(self, distances: Tensor) -> Tensor:
        """Return the bias of keys at these distances from their queries: [...] -> [heads, ...]."""
        ranges = distance_ranges(distances, len(self.table), self.furthest, both_ways=self.both_ways)
        return self.table[ranges].movedim(-1, 0).contiguous()  # fused kernels ask for keys side by side


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each on its own projection of the input (paper, 3.2.2).

    W_Q, W_K and W_V stand under one another in `query_key_value.weight` [3 heads d_k, d_model]; head h owns the rows
    h d_k to (h + 1) d_k of each. One matrix product then projects all three, which a CPU does faster than three.
    d_k is `head_size`, d_model / heads where it is 0; scores are not divided by its root where they are not `scaled`.
    Raises ValueError when `num_heads` should divide `d_model` and does not.
    """

    def __init__(self, d_model: int, num_heads: int, *, head_size: int = 0, bias: bool = True, scaled: bool = True):
        super().__init__()
        if not head_size and d_model % num_heads:
            raise ValueError(f"num_heads must divide d_model, got d_model={d_model} and num_heads={num_heads}")
        self.num_heads = num_heads
        self.d_model = d_model
        self.width = num_heads * (head_size or d_model // num_heads)
        self.scale = None if scaled else 1.0
        self.query_key_value = Linear(d_model, 3 * self.width, bias=bias)
        self.core = ScaledDotProductAttention()
        self.output = Linear(self.width, d_model, bias=bias)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Query, key and value of one sequence, for self-attention: [batch, length, d_model] -> 3 x heads of it."""
        query, key, value = self.query_key_value(x).chunk(3, dim=-1)
        return self.split(query), self.split(key), self.split(value)

    def project_query(self, x: Tensor) -> Tensor:
        """Return the query alone, for cross-attention: [batch, queries, d_model] -> [batch, heads, queries, d_k]."""
        return self.split(self.query_key_value.product(0, self.width)(x))

    def project_memory(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Key and value of the memory, once a sentence: [batch, keys, d_model] -> 2 x [batch, heads, keys, d_k]."""
        key, value = self.query_key_value.product(self.width)(memory).chunk(2, dim=-1)
        return self.split(key), self.split(value)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None = None
    ) -> Tensor:
        """All heads' attention, concatenated, times W_O: -> [batch, queries, d_model]."""
        heads = self.core(query, key, value, mask, bias, self.scale)
        return self.output(self.merge(heads))

    def attend_so_far(self, x: Tensor, cache: "LayerCache", mask: Tensor | None, bias: Tensor | None = None) -> Tensor:
        """Attention from the newest tokens to all in the cache, to which theirs are added: -> like x."""
        query, key, value = self.project(x)
        return self.attend(query, *cache.append(key, value), mask, bias)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        """Attention from x to memory (self-attention when they are the same): -> [batch, queries, d_model]."""
        if x is memory:
            return self.attend(*self.project(x), mask, bias)
        return self.attend(self.project_query(x), *self.project_memory(memory), mask, bias)

    def split(self, x: Tensor) -> Tensor:
        """[batch, length, heads d_k] -> [batch, heads, length, d_k]."""
        batch, length, width = x.shape
        return x.view(batch, length, self.num_heads, width // self.num_heads).transpose(1, 2)

    def merge(self, heads: Tensor) -> Tensor:
        """[batch, heads, length, d_k] -> [batch, length, heads d_k], head after head."""
        return heads.transpose(1, 2).flatten(-2)

    def reset_parameters(self) -> None:
        """Xavier-uniform for W_Q, W_K, W_V and W_O, each as the matrix it is; biases zero."""
        for block in self.query_key_value.weight.data.chunk(3):
            nn.init.xavier_uniform_(block)
        nn.init.xavier_uniform_(self.output.weight)
        for linear in (self.query_key_value, self.output):
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)


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


ROOM = 16  # positions that a cache has at first; they are numbers before they are filled, so that all may be read


class LayerCache:
    """One decoder layer's keys and values: its own tokens' (growing) and the memory's (computed once).

    `key`, `value`: [batch, heads, room, d_k], the first `length` positions filled, zeros after them; the room doubles,
    up to `capacity`: what is read stays close together. `memory_key`, `memory_value`: [batch, heads, source, d_k].
    """

    def __init__(self, memory_key: Tensor, memory_value: Tensor, capacity: int):
        batch, heads, _, d_k = memory_key.shape
        self.memory_key, self.memory_value = memory_key.contiguous(), memory_value.contiguous()
        self.key = memory_key.new_zeros(batch, heads, min(ROOM, capacity), d_k)
        self.value = torch.zeros_like(self.key)
        self.length, self._capacity = 0, capacity

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add [batch, heads, new, d_k] of both and return views of all so far, [batch, heads, length, d_k]."""
        start, new, room = self.length, key.shape[2], self.key.shape[2]
        self.length = end = start + new
        if end > room:
            more = min(max(2 * room, end), self._capacity) - room
            self.key, self.value = F.pad(self.key, (0, 0, 0, more)), F.pad(self.value, (0, 0, 0, more))
        self.key.narrow(2, start, new).copy_(key)
        self.value.narrow(2, start, new).copy_(value)
        return self.key.narrow(2, 0, end), self.value.narrow(2, 0, end)

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order (a row may be repeated or left out)."""
        self.reorder(rows)
        self.memory_key = self.memory_key.index_select(0, rows)
        self.memory_value = self.memory_value.index_select(0, rows)

    def reorder(self, rows: Tensor) -> None:
        """Like `select` when every row stays with its own sentence: the memory's need not move."""
        self.key = self.key.index_select(0, rows)
        self.value = self.value.index_select(0, rows)
